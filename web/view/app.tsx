/** The page: its head, the view that the address names, and what is said over it. */
import { refusal } from '../api/session.ts';
import { route } from '../model/route.ts';
import { ApprovalsView } from './approvals-view.tsx';
import { Banners } from './banners.tsx';
import { Header } from './header.tsx';
import { Notices } from './notices.tsx';
import { PoolView } from './pool-view.tsx';
import { RunView } from './run-view.tsx';
import { RunsView } from './runs-view.tsx';
import { SignIn } from './sign-in.tsx';
import { SpawnDialog } from './spawn-dialog.tsx';

export function App() {
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        {refusal.value === null ? (
          <>
            <Banners />
            <View />
          </>
        ) : (
          <SignIn words={refusal.value} />
        )}
      </main>
      <Notices />
      <SpawnDialog />
    </>
  );
}

/** The address names the view, so a link into the page must not change it. */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function View() {
  const now = route.value;
  switch (now.view) {
    case 'runs':
      return <RunsView query={now.query} />;
    case 'run':
      return <RunView key={now.handle} handle={now.handle} />;
    case 'approvals':
      return <ApprovalsView />;
    case 'pool':
      return <PoolView />;
    default:
      return now satisfies never;
  }
}
