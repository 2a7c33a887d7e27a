/** What a turn costs its caller under `fairness: tokens`: charged when it is admitted, corrected when it ends. */
import { charge } from './callers.ts';
import type { TurnReport } from './events.ts';
import { costOf } from './fairness.ts';
import { expectedPrompt } from './footprint.ts';
import { matchedTokens } from './prefix-placement.ts';
import type { Replica, SchedulerState, Turn } from './state.ts';

/** Call before the turn's prefix counts as being on `replica`. */
export function chargeAdmission(state: SchedulerState, turn: Turn, replica: Replica): void {
  const promptTokens = expectedPrompt(turn, replica);
  const cachedTokens = turn.leftTokens ?? matchedTokens(turn, replica);
  state.servedFloor = Math.max(state.servedFloor, turn.caller.servedTokens);
  turn.chargedTokens = costOf({ promptTokens, cachedTokens, outputTokens: turn.expectedOutputTokens });
  charge(state, turn.caller, turn.chargedTokens);
}

/** A turn that an engine refused or that failed before its first byte cost nothing. */
export function correctCharge(state: SchedulerState, turn: Turn, report: TurnReport): void {
  charge(state, turn.caller, actualCost(turn, report) - turn.chargedTokens);
}

function actualCost(turn: Turn, { outcome, usage, cachedTokens = 0 }: TurnReport): number {
  if (usage !== undefined) {
    return costOf({ promptTokens: usage.promptTokens, cachedTokens, outputTokens: usage.completionTokens });
  }
  const served = turn.started || outcome === 'paused' || outcome === 'done';
  return served ? turn.chargedTokens : 0;
}
