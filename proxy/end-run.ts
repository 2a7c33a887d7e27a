/** The end of a run: its turns here end at once, those elsewhere through the scheduler; then it is forgotten. */
import type { RunId } from '../contracts/ids.ts';
import type { ProxyContext } from './proxy-context.ts';

export function endRun(context: ProxyContext, run: RunId): void {
  context.turns.endRun(run);
  context.link.endRun(run);
  context.runs.forget(run);
  context.memory.forget(run);
}
