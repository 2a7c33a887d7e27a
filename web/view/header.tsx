/** Where one is, where one can go, and whether what is shown is live. */
import { connection } from '../api/event-stream.ts';
import { setToken, token } from '../api/session.ts';
import { openCount } from '../model/approvals.ts';
import type { Route } from '../model/parse-route.ts';
import { listLink, route } from '../model/route.ts';
import { nextTheme, theme } from '../model/theme.ts';
import { openSpawn } from './spawn-dialog.tsx';

export function Header() {
  const waiting = openCount.value;
  return (
    <header class="head">
      <h1 class="brand">
        <svg viewBox="0 0 32 20" aria-hidden="true">
          <path d="M2 18a14 14 0 0 1 28 0h-3.4a10.6 10.6 0 0 0-21.2 0z" />
          <circle cx="16" cy="16.4" r="3" />
        </svg>
        fermata
      </h1>
      <nav aria-label="Views">
        <Link view="runs" href={listLink.value}>
          Runs
        </Link>
        <Link view="approvals" href="#/approvals">
          Approvals
          {waiting > 0 && (
            <span class="badge">
              {waiting}
              <span class="unseen"> open</span>
            </span>
          )}
        </Link>
        <Link view="pool" href="#/pool">
          Pool
        </Link>
      </nav>
      <div class="head-tools">
        <Connection />
        <button type="button" class="quiet" onClick={nextTheme} title="Light, dark, or as the system says">
          <span aria-hidden="true">{themeSigns[theme.value]}</span>
          <span class="unseen">Colours: {theme.value}. Change</span>
        </button>
        {token.value !== null && (
          <button type="button" class="quiet" onClick={signOut}>
            Sign out
          </button>
        )}
        <button type="button" class="primary" onClick={() => openSpawn(null)}>
          Spawn
        </button>
      </div>
    </header>
  );
}

const themeSigns = { system: '◐', light: '☀', dark: '☾' } as const;

function signOut(): void {
  setToken(null);
  location.reload();
}

function Link({
  view,
  href,
  children,
}: {
  readonly view: Route['view'];
  readonly href: string;
  readonly children: preact.ComponentChildren;
}) {
  const at = route.value.view;
  const isHere = at === view || (at === 'run' && view === 'runs');
  return (
    <a href={href} aria-current={isHere ? 'page' : undefined}>
      {children}
    </a>
  );
}

function Connection() {
  const { state, words } = connection.value;
  const text = state === 'live' ? 'live' : state === 'connecting' ? 'connecting' : 'not live';
  return (
    <span class={`connection ${state}`} role="status" title={words}>
      <span class="dot" aria-hidden="true" />
      {text}
    </span>
  );
}
