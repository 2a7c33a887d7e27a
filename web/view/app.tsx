/** The page: its head, the view that the address names, and what is said over it. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { refusal } from '../api/session.ts';
import type { Route } from '../model/parse-route.ts';
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
  useArrival(route.value);
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

const titles = { runs: 'Runs', run: 'Run', approvals: 'Approvals', pool: 'Pool' } as const;
let listScrollY = 0;

/** Another view begins at its top, the list where it was left; whoever does not see it is taken along. */
function useArrival({ view }: Route): void {
  const before = useRef<Route['view'] | null>(null);
  const handle = route.value.view === 'run' ? route.value.handle : '';
  useLayoutEffect(() => {
    document.title = `${titles[view]} · fermata`;
    const isFirst = before.current === null;
    before.current = view;
    if (isFirst) return undefined;
    window.scrollTo(0, view === 'runs' ? listScrollY : 0);
    if (document.activeElement === document.body) focusMain();
    return undefined;
  }, [view, handle]);
  useLayoutEffect(() => {
    if (view !== 'runs') return undefined;
    const note = (): void => {
      listScrollY = window.scrollY;
    };
    window.addEventListener('scrollend', note);
    return () => window.removeEventListener('scrollend', note);
  }, [view]);
}

function focusMain(): void {
  document.getElementById('main')?.focus({ preventScroll: true });
}

/** The address names the view, so a link into the page must not change it. */
function skipToMain(event: Event): void {
  event.preventDefault();
  focusMain();
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
