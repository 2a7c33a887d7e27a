/** Callers that have turns held or in flight, with their weights. One without turns is not kept. */
import type { Caller } from '../../contracts/ids.ts';
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
    queues: new Set(),
  };
  state.callers.set(id, caller);
  return caller;
}

/** Counts a place that the caller got (1) or gave back (-1). */
export function countInFlight(state: SchedulerState, caller: CallerState, change: 1 | -1): void {
  caller.inFlight += change;
  callerMoved(caller);
  releaseCaller(state, caller);
}

export function countHeld(state: SchedulerState, caller: CallerState, change: 1 | -1): void {
  caller.heldTurns += change;
  releaseCaller(state, caller);
}

/** Takes over changed weights. */
export function reweighCallers(state: SchedulerState): void {
  for (const caller of state.callers.values()) {
    caller.weight = weightOf(state, caller.id);
    callerMoved(caller);
  }
}

function releaseCaller(state: SchedulerState, caller: CallerState): void {
  if (caller.inFlight === 0 && caller.heldTurns === 0) state.callers.delete(caller.id);
}

function weightOf(state: SchedulerState, id: Caller): number {
  return Object.hasOwn(state.callerSettings, id) ? (state.callerSettings[id]?.weight ?? 1) : 1;
}
