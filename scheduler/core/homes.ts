/** Where the turns of a run for each model went last. Pure. */
import { withOne, type Home, type Run } from './state.ts';

export function homeFor(run: Run, model: string): Home | undefined {
  return run.homes.find((home) => home.model === model);
}

/** @param home null: it has none for this model. */
export function moveHome(run: Run, model: string, home: Home | null): void {
  const others = run.homes.filter((other) => other.model !== model);
  run.homes = home === null ? others : withOne(others, home);
}
