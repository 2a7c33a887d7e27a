/** What time alone does, once a second: reservations end, batch turns age, silent turns and idle runs go. */
import type { Effect } from './events.ts';
import { runIdleMs, turnSilenceMs } from './limits.ts';
import { rememberLoss, sweepLosses } from './losses.ts';
import { sweepLostProxies } from './proxy-events.ts';
import { endReservation } from './pauses.ts';
import { forgetRun } from './runs.ts';
import type { SchedulerState } from './state.ts';
import { ageTurn, record, releaseTurn } from './turns.ts';

/** The core's own time follows the host's clock forward; a clock set back stands still and goes on from there. */
export function advanceClock(state: SchedulerState, atMs: number): void {
  if (state.clockMs !== null && atMs > state.clockMs) state.nowMs += atMs - state.clockMs;
  state.clockMs = atMs;
}

export function ticked(state: SchedulerState, effects: Effect[]): void {
  state.tickedAtMs = state.nowMs;
  for (const replica of state.replicas.values()) state.freed.add(replica);
  for (;;) {
    const run = state.reservations.first;
    if (run === undefined || run.reservedUntilMs > state.nowMs) break;
    endReservation(state, run);
  }
  for (;;) {
    const turn = state.ageing.first;
    if (turn === undefined || state.nowMs - turn.heldSinceMs < state.policy.maxBatchHoldMs) break;
    ageTurn(state, turn);
  }
  sweepLostProxies(state, effects);
  for (;;) {
    const turn = state.silences.first;
    if (turn === undefined || state.nowMs - turn.heardAtMs < turnSilenceMs) break;
    rememberLoss(state, turn);
    releaseTurn(state, turn, { outcome: 'failed' });
    record(effects, { metric: 'dropped', reason: 'silent' });
  }
  for (;;) {
    const run = state.resting.first;
    if (run === undefined || state.nowMs - run.activeAtMs < runIdleMs) break;
    forgetRun(state, run);
    record(effects, { metric: 'run_forgotten', reason: 'idle' });
  }
  sweepLosses(state);
}
