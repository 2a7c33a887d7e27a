/**
 * Callers that have turns held or in flight, with their weights. Of one without turns only the counter of
 * served tokens is kept, for a bounded number of callers.
 */
import type { Caller } from '../../contracts/ids.ts';
import { liftedTokens, shareOf } from './fairness.ts';
import { maxIdleCallers } from './limits.ts';
import { callerMoved } from './queue.ts';
import type { CallerState, SchedulerState } from './state.ts';

export function obtainCaller(state: SchedulerState, id: Caller): CallerState {
  const known = state.callers.get(id);
  if (known !== undefined) return known;
  const caller: CallerState = {
    id,
    weight: weightOf(state, id),
    inFlight: 0,
    heldTurns: 0,
    servedTokens: liftedTokens(state, state.idleCallers.get(id) ?? 0),
    share: 0,
    queues: new Set(),
    waiting: null,
  };
  caller.share = shareOf(state, caller);
  state.idleCallers.delete(id);
  state.callers.set(id, caller);
  return caller;
}

/** Counts a place that the caller got (1) or gave back (-1). */
export function countInFlight(state: SchedulerState, caller: CallerState, change: 1 | -1): void {
  caller.inFlight += change;
  shareChanged(state, caller);
  releaseCaller(state, caller);
}

export function countHeld(state: SchedulerState, caller: CallerState, change: 1 | -1): void {
  caller.heldTurns += change;
  if (caller.waiting === null && caller.heldTurns > 0) caller.waiting = state.waitingCallers.push(caller);
  if (caller.waiting !== null && caller.heldTurns === 0) {
    state.waitingCallers.remove(caller.waiting);
    caller.waiting = null;
  }
  releaseCaller(state, caller);
}

/** Adds served tokens, or takes back what was charged too much. Call while the caller has turns. */
export function charge(state: SchedulerState, caller: CallerState, tokens: number): void {
  caller.servedTokens += tokens / caller.weight;
  if (caller.waiting !== null) state.waitingCallers.moved(caller.waiting);
  shareChanged(state, caller);
}

/** Takes over changed weights and another kind of fairness. */
export function reweighCallers(state: SchedulerState): void {
  for (const caller of state.callers.values()) {
    caller.weight = weightOf(state, caller.id);
    shareChanged(state, caller);
  }
}

function shareChanged(state: SchedulerState, caller: CallerState): void {
  const share = shareOf(state, caller);
  if (share === caller.share) return;
  caller.share = share;
  callerMoved(state, caller);
}

function releaseCaller(state: SchedulerState, caller: CallerState): void {
  if (caller.inFlight > 0 || caller.heldTurns > 0) return;
  state.callers.delete(caller.id);
  if (caller.servedTokens <= 0) return;
  state.idleCallers.set(caller.id, caller.servedTokens);
  for (const oldest of state.idleCallers.keys()) {
    if (state.idleCallers.size <= maxIdleCallers) break;
    state.idleCallers.delete(oldest);
  }
}

function weightOf(state: SchedulerState, id: Caller): number {
  return Object.hasOwn(state.callerSettings, id) ? (state.callerSettings[id]?.weight ?? 1) : 1;
}
