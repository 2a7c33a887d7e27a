/**
 * Fairness between callers (rule 5): by which number they are compared, the least going first.
 *
 * `inflight`: turns in flight. `tokens`: a virtual counter of tokens served, charged on admission with the
 * estimate and corrected at the end; a caller that comes back from idleness is lifted to the smallest
 * counter of those who wait, so that it has no credit from the time it asked for nothing. Both are per unit
 * of weight, and both leave no place empty: they only say who is first.
 */
import type { Policy } from '../../contracts/config-file.ts';
import type { CallerState, SchedulerState } from './state.ts';

const cost = { uncached: 1, cached: 0.1, output: 2 } as const;

export interface ServedTokens {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

export function costOf({ promptTokens, cachedTokens, outputTokens }: ServedTokens): number {
  const cached = Math.min(cachedTokens, promptTokens);
  return (promptTokens - cached) * cost.uncached + cached * cost.cached + outputTokens * cost.output;
}

const shares: Readonly<Record<Policy['fairness'], (caller: CallerState) => number>> = {
  inflight: (caller) => caller.inFlight / caller.weight,
  tokens: (caller) => caller.servedTokens,
};

export function shareOf(state: SchedulerState, caller: CallerState): number {
  return shares[state.policy.fairness](caller);
}

/** The counter of a caller that comes back from idleness, or comes for the first time. */
export function liftedTokens(state: SchedulerState, keptTokens: number): number {
  return Math.max(keptTokens, state.waitingCallers.first?.servedTokens ?? state.servedFloor);
}
