/** Which view the address names: what follows its `#`. Going back and links to a run work by themselves. */
import { signal } from '@preact/signals';
import { parseRoute, type Route } from './parse-route.ts';

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
