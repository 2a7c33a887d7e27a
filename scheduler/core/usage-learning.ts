/**
 * What finished turns teach: how long replies of a class are, and how far a proxy's estimate of prompt tokens
 * is off, on a replica and for a run.
 */
import type { Usage } from '../../contracts/link-protocol.ts';
import type { Replica, SchedulerState, Turn } from './state.ts';

/** Weight of the newest value in an average. */
const newest = 0.05;
/** Beyond these an estimate and a count are not of the same text. */
const ratioBounds = { lowest: 0.25, highest: 4 } as const;

export function learnFrom(
  { expectations }: SchedulerState,
  { spec, run }: Pick<Turn, 'spec' | 'run'>,
  replica: Replica,
  usage: Usage,
): void {
  const known = expectations.outputTokens[spec.class];
  expectations.outputTokens[spec.class] = known + (usage.completionTokens - known) * newest;
  if (spec.promptTokens <= 0 || usage.promptTokens <= 0) return;
  const { lowest, highest } = ratioBounds;
  const ratio = Math.min(highest, Math.max(lowest, usage.promptTokens / spec.promptTokens));
  replica.promptRatio += (ratio - replica.promptRatio) * newest;
  if (run !== null) run.promptRatio = ratio;
}
