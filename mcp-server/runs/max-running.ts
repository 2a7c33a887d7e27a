/** How many runs a caller may have at work at once. Pure. */
import { everyCaller, type Callers } from '../../contracts/config-file.ts';

/**
 * As with rate limits, an entry of its own frees a caller of what holds for everyone.
 * @param otherwise where neither says anything.
 */
export function maxRunningOf(callers: Callers, caller: string, otherwise: number): number {
  const name = Object.hasOwn(callers, caller) ? caller : everyCaller;
  const entry = Object.hasOwn(callers, name) ? callers[name] : undefined;
  return entry?.maxRunning ?? otherwise;
}
