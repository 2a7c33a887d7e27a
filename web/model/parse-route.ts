/** Which view an address names, and addresses of views. Pure. */

export type Route =
  | { readonly view: 'runs'; readonly query: URLSearchParams }
  | { readonly view: 'run'; readonly handle: string }
  | { readonly view: 'approvals' }
  | { readonly view: 'pool' };

/** An unknown address is the list. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [view, handle = ''] = path.split('/');
  if (view === 'runs' && /^run_[A-Za-z0-9]{22}$/.test(handle)) return { view: 'run', handle };
  if (view === 'approvals' || view === 'pool') return { view };
  return { view: 'runs', query: new URLSearchParams(query) };
}

export function linkToRun(handle: string): string {
  return `#/runs/${handle}`;
}
