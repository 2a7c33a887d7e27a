/**
 * Turns that were lost with their client or failed, remembered for a minute, in case one comes back. As
 * the same run and turn number (the client's retry) or as the same turn id (its proxy's), it keeps its
 * first arrival time. As the same turn id it is also tried elsewhere first, unless its run was pinned.
 */
import type { TurnSpec } from '../../contracts/link-protocol.ts';
import { maxLosses, retryMs } from './limits.ts';
import type { Loss, SchedulerState, Turn } from './state.ts';

export function rememberLoss(state: SchedulerState, turn: Turn): void {
  const failedOn = turn.replica === null || turn.wasPinned ? null : turn.replica.id;
  const { arrivedAtMs, sequence } = turn;
  const loss: Loss = { arrivedAtMs, sequence, lostAtMs: state.nowMs, failedOn: null };
  const { turn: id, run, turnNumber } = turn.spec;
  remember(state, idKey(id), { ...loss, failedOn });
  if (turnNumber !== undefined) remember(state, numberKey(run, turnNumber), loss);
  while (state.losses.size > maxLosses) forgetOldest(state);
}

/** The loss of which this turn is the retry; it counts once. */
export function takeLoss(state: SchedulerState, spec: TurnSpec): Loss | null {
  const byNumber = spec.turnNumber === undefined ? null : take(state, numberKey(spec.run, spec.turnNumber));
  return take(state, idKey(spec.turn)) ?? byNumber;
}

function take(state: SchedulerState, key: string): Loss | null {
  const loss = state.losses.get(key);
  if (loss === undefined) return null;
  state.losses.delete(key);
  return state.nowMs - loss.lostAtMs <= retryMs ? loss : null;
}

export function sweepLosses(state: SchedulerState): void {
  for (const loss of state.losses.values()) {
    if (state.nowMs - loss.lostAtMs <= retryMs) return;
    forgetOldest(state);
  }
}

function forgetOldest(state: SchedulerState): void {
  for (const key of state.losses.keys()) {
    state.losses.delete(key);
    return;
  }
}

/** Set anew, so that the map stays in order of loss. */
function remember(state: SchedulerState, key: string, loss: Loss): void {
  state.losses.delete(key);
  state.losses.set(key, loss);
}

function idKey(turn: string): string {
  return `turn ${turn}`;
}

function numberKey(run: string, turnNumber: number): string {
  return `number ${turnNumber} ${run}`;
}
