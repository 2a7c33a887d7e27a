/**
 * Pauses of a run and the reservation that goes with them: when a turn's end is a pause, whether the run keeps
 * its place on its replica meanwhile and how long, and what pauses teach about tools.
 */
import type { TurnReport } from './events.ts';
import { goesOn, leftContext } from './footprint.ts';
import { isSlow, notePause, plainText } from './pause-statistics.ts';
import { settleResidences } from './residence.ts';
import { countsContexts, isOverfull } from './residency.ts';
import { mostReturn, noteReturn } from './returns.ts';
import { none, type Replica, type Run, type SchedulerState, type Turn } from './state.ts';

/** Whether the run pauses with the end of this turn, which is no longer in flight. */
export function isPause(state: SchedulerState, run: Run, turn: Turn, { outcome }: TurnReport): boolean {
  return outcome === 'paused' || pausesInText(state, run, turn, outcome);
}

/**
 * A run that calls its tools in plain text never says that it pauses: when it came back soon after a finished
 * reply, it will again; before its first one, it is taken to do as most runs of its class.
 */
function pausesInText(state: SchedulerState, run: Run, turn: Turn, outcome: TurnReport['outcome']): boolean {
  if (outcome !== 'done' || !(run.cameBackSoon ?? mostReturn(state.returns, run.class))) return false;
  if (run.inFlight.length > 0 || run.pausingOn !== null || turn.replica === null) return false;
  return countsContexts(state.policy, turn.replica);
}

/** Of several turns at once that pause, the one with the largest context is the run's conversation. */
export function pause(state: SchedulerState, run: Run, turn: Turn, report: TurnReport): void {
  const context = leftContext(turn, report);
  run.pauses += 1;
  const sideBySide = run.pausingOn === turn.replica && turn.admittedAtMs < run.pausedAtMs;
  if (sideBySide && (run.pausedContext?.tokens ?? 0) > context.tokens) return;
  run.pausedAtMs = state.nowMs;
  run.pausingOn = turn.replica;
  run.pausedContext = context;
  run.toolNames = report.toolNames ?? none;
}

/** Whether a run that has just come to rest is resident: it pauses, its tools are quick and there is no excess. */
export function keepsPlace(state: SchedulerState, run: Run): boolean {
  const replica = run.pausingOn;
  if (replica === null || !replica.member) return false;
  if (run.heldTurns > 0) return true;
  if (isSlow(state.pauseStatistics, run.toolNames)) return false;
  return !countsContexts(state.policy, replica) || !isOverfull(replica);
}

/**
 * Whether a turn that goes in flight ends the pause: it goes on with the conversation that had paused, as far
 * as prefixes tell, or the run was not resident any more. A side turn leaves the pause as it is.
 */
export function endsPause(run: Run, turn: Turn): boolean {
  if (run.inFlight.length === 0 && !run.resident) return true;
  return run.pausedContext === null || goesOn(run.pausedContext.prefix, turn.spec.prefix);
}

export function leavePause(run: Run): void {
  run.pausingOn = null;
  run.pausedContext = null;
  run.toolNames = none;
}

/** Its rest was over at `endedAtMs`, when its next turn came. */
export function notePauseOf(state: SchedulerState, run: Run, endedAtMs: number): void {
  if (run.restsSinceMs === null) return;
  const restMs = Math.max(0, endedAtMs - run.restsSinceMs);
  run.restsSinceMs = null;
  if (run.toolNames.length > 0) notePause(state.pauseStatistics, run.toolNames, restMs);
  else if (run.lastOutcome === 'done') noteRestOf(state, run, restMs);
}

/** It has rested after a finished reply, not after a call. */
function noteRestOf(state: SchedulerState, run: Run, restMs: number): void {
  run.cameBackSoon = restMs <= state.policy.pauseReservationMs[run.class];
  if (!run.cameBackSoon) return;
  noteReturn(state.returns, run.class);
  notePause(state.pauseStatistics, [plainText], restMs);
}

/** The time of a pause is up: the run may move, and nobody leaves room for it any more. */
export function endReservation(state: SchedulerState, run: Run): void {
  dropReservation(state, run);
  run.resident = false;
  settleResidences(state, run);
}

/** What runs left on `replica` is gone or out of reach: none is paused there any more. */
export function endPausesOn(state: SchedulerState, replica: Replica): void {
  for (const run of state.runs.values()) {
    if (run.pausingOn !== replica) continue;
    leavePause(run);
    endReservation(state, run);
  }
}

export function startResting(state: SchedulerState, run: Run): void {
  run.resting = state.resting.push(run);
  run.restsSinceMs = run.activeAtMs;
  const replica = run.pausingOn;
  if (!run.resident || replica === null) return;
  run.reservedUntilMs = run.activeAtMs + state.policy.pauseReservationMs[run.class];
  run.reservation = state.reservations.push(run);
  run.reservedOn = replica;
  replica.paused += 1;
  if (run.class === 'interactive') replica.pausedInteractive += 1;
}

export function stopResting(state: SchedulerState, run: Run): void {
  if (run.resting !== null) state.resting.remove(run.resting);
  run.resting = null;
  dropReservation(state, run);
}

function dropReservation(state: SchedulerState, run: Run): void {
  if (run.reservation === null) return;
  state.reservations.remove(run.reservation);
  run.reservation = null;
  const replica = run.reservedOn;
  run.reservedOn = null;
  if (replica === null) return;
  replica.paused -= 1;
  if (run.class === 'interactive') replica.pausedInteractive -= 1;
  state.freed.add(replica);
}
