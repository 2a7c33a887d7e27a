/** Which view the address names: what follows its `#`. Going back and links to a run work by themselves. */
import { signal } from '@preact/signals';

export type Route =
  | { readonly view: 'runs'; readonly query: URLSearchParams }
  | { readonly view: 'run'; readonly handle: string }
  | { readonly view: 'approvals' }
  | { readonly view: 'pool' };

/** Pure. An unknown address is the list. */
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

export const route = signal<Route>(parseRoute(''));
/** The filter of the list, as it was left. */
export const listLink = signal('#/runs');

export function followAddress(): void {
  const read = (): void => {
    route.value = parseRoute(location.hash);
    if (route.value.view === 'runs') listLink.value = location.hash === '' ? '#/runs' : location.hash;
  };
  window.addEventListener('hashchange', read);
  read();
}

export function goTo(link: string): void {
  location.hash = link;
}
