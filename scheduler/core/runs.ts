/**
 * The life of a run: it is known from its first turn, generates while a turn is in flight, rests (paused
 * or idle) while it has none, and is forgotten when it has rested too long. Keeps the reservation of a
 * paused run (its place on its replica) and the replicas its turns went to. Moves no turn.
 */
import type { ResyncRun, TurnSpec } from '../../contracts/link-protocol.ts';
import type { Effect, TurnReport } from './events.ts';
import { leftContext } from './footprint.ts';
import { maxReplicasListed, maxRuns } from './limits.ts';
import { isSlow, notePause } from './pause-statistics.ts';
import { settleResidences } from './residence.ts';
import { countsContexts, isOverfull } from './residency.ts';
import type { Replica, Run, SchedulerState, Turn } from './state.ts';

/** The run of a turn, made when it is new; null when there are too many and none rests. */
export function obtainRun(
  state: SchedulerState,
  effects: Effect[],
  spec: Pick<TurnSpec, 'run' | 'class' | 'caller'>,
): Run | null {
  const known = state.runs.get(spec.run);
  if (known !== undefined) return known;
  if (state.runs.size >= maxRuns) {
    const longest = state.resting.first;
    if (longest === undefined) return null;
    forgetRun(state, longest);
    effects.push({ type: 'recorded', record: { metric: 'run_forgotten', reason: 'too_many' } });
  }
  const run = createRun(state, spec);
  state.runs.set(run.id, run);
  return run;
}

function createRun(state: SchedulerState, spec: Pick<TurnSpec, 'run' | 'class' | 'caller'>): Run {
  return {
    id: spec.run,
    class: spec.class,
    caller: spec.caller,
    strands: new Map(),
    heldTurns: 0,
    inFlight: new Set(),
    homes: new Map(),
    lastReplica: null,
    rest: 'idle',
    reservedOn: null,
    resident: false,
    pausingOn: null,
    pausedContext: null,
    toolNames: [],
    restsSinceMs: null,
    lastOutcome: null,
    cameBackSoon: false,
    promptRatio: null,
    residences: [],
    ended: false,
    turns: 0,
    pauses: 0,
    replicas: [],
    activeAtMs: state.nowMs,
    reservedUntilMs: 0,
    resting: null,
    reservation: null,
  };
}

/**
 * A turn of the run is held, and came `heldForMs` ago: the pause was over then, and what it had reserved
 * by that time is kept for this turn.
 */
export function runHeld(state: SchedulerState, run: Run, spec: TurnSpec, heldForMs: number): void {
  notePauseOf(state, run, state.nowMs - heldForMs);
  if (run.reservation !== null && run.reservedUntilMs <= state.nowMs - heldForMs) endReservation(state, run);
  stopResting(state, run);
  run.class = spec.class;
  run.caller = spec.caller;
  run.activeAtMs = state.nowMs;
  run.heldTurns += 1;
}

/** A held turn of the run is gone without admission. */
export function runUnheld(state: SchedulerState, run: Run): void {
  run.heldTurns -= 1;
  if (run.heldTurns > 0 || run.inFlight.size > 0 || run.ended) return;
  run.rest = 'idle';
  run.resident = false;
  run.lastOutcome = 'failed';
  leavePause(run);
  settleResidences(state, run);
  if (run.turns === 0) forgetRun(state, run);
  else startResting(state, run);
}

/** A turn of the run is in flight on `replica` now; call after it left the queues. */
export function runAdmitted(state: SchedulerState, run: Run, turn: Turn, replica: Replica): void {
  stopResting(state, run);
  const model = turn.spec.model ?? '';
  const home = run.homes.get(model);
  if (home?.replica !== replica.id) {
    const previous = home === undefined ? run.lastReplica : home.served ? home.replica : home.previous;
    run.homes.set(model, { replica: replica.id, served: false, previous });
  }
  // Another turn for the same model goes on with the conversation that had paused.
  if (run.inFlight.size === 0 || home?.replica === run.pausingOn?.id) leavePause(run);
  run.lastReplica = replica.id;
  run.resident = false;
  run.inFlight.add(turn);
  run.turns += 1;
  if (!run.replicas.includes(replica.id) && run.replicas.length < maxReplicasListed) {
    run.replicas.push(replica.id);
  }
  run.activeAtMs = state.nowMs;
  settleResidences(state, run);
}

/** A turn of the run that was in flight has ended; when it was the last, the run rests or waits on. */
export function runReleased(state: SchedulerState, run: Run, turn: Turn, report: TurnReport): void {
  const { outcome } = report;
  run.inFlight.delete(turn);
  run.lastOutcome = outcome;
  if (run.ended) {
    settleResidences(state, run);
    return;
  }
  if (outcome === 'paused' || pausesInText(state, run, turn, outcome)) pause(run, turn, report);
  const home = run.homes.get(turn.spec.model ?? '');
  if (home?.replica === turn.replica?.id && home !== undefined) {
    if (outcome === 'paused' || outcome === 'done') home.served = true;
    else if (!home.served && run.inFlight.size === 0) leaveHome(run, turn);
  }
  if (run.inFlight.size === 0) {
    run.activeAtMs = state.nowMs;
    run.rest = run.pausingOn === null ? 'idle' : 'paused';
    run.resident = keepsPlace(state, run);
  }
  settleResidences(state, run);
  if (run.inFlight.size === 0 && run.heldTurns === 0) startResting(state, run);
}

/**
 * A run that calls its tools in plain text never says that it pauses: when it came back soon after a finished
 * reply, it will again.
 */
function pausesInText(state: SchedulerState, run: Run, turn: Turn, outcome: TurnReport['outcome']): boolean {
  if (outcome !== 'done' || !run.cameBackSoon) return false;
  if (run.inFlight.size > 0 || run.pausingOn !== null || turn.replica === null) return false;
  return countsContexts(state.policy, turn.replica);
}

/** Of several turns that pause, the one with the largest context is the run's conversation. */
function pause(run: Run, turn: Turn, report: TurnReport): void {
  const context = leftContext(turn, report);
  run.pauses += 1;
  if (run.pausingOn === turn.replica && (run.pausedContext?.tokens ?? 0) > context.tokens) return;
  run.pausingOn = turn.replica;
  run.pausedContext = context;
  run.toolNames = report.toolNames ?? [];
}

/** Whether a run that has just come to rest is resident: it pauses, its tools are quick and there is no excess. */
function keepsPlace(state: SchedulerState, run: Run): boolean {
  const replica = run.pausingOn;
  if (replica === null || !replica.member) return false;
  if (run.heldTurns > 0) return true;
  if (isSlow(state.pauseStatistics, run.toolNames)) return false;
  return !countsContexts(state.policy, replica) || !isOverfull(replica);
}

function leavePause(run: Run): void {
  run.pausingOn = null;
  run.pausedContext = null;
  run.toolNames = [];
}

/** Its rest was over at `endedAtMs`, when its next turn came. */
function notePauseOf(state: SchedulerState, run: Run, endedAtMs: number): void {
  if (run.restsSinceMs === null) return;
  const restMs = Math.max(0, endedAtMs - run.restsSinceMs);
  run.restsSinceMs = null;
  if (run.lastOutcome === 'paused') notePause(state.pauseStatistics, run.toolNames, restMs);
  if (run.lastOutcome === 'done') run.cameBackSoon = restMs <= state.policy.pauseReservationMs[run.class];
}

/** A replica that has served nothing is no home: what failed there goes back to the one before. */
function leaveHome(run: Run, turn: Turn): void {
  const model = turn.spec.model ?? '';
  const previous = run.homes.get(model)?.previous ?? null;
  run.homes.delete(model);
  if (previous !== null) run.homes.set(model, { replica: previous, served: true, previous: null });
  run.lastReplica = previous;
}

/** The client has ended the run: it is unknown from now on; its turns in flight wind down by themselves. */
export function endRun(state: SchedulerState, run: Run): void {
  run.ended = true;
  leavePause(run);
  forgetRun(state, run);
}

export function forgetRun(state: SchedulerState, run: Run): void {
  stopResting(state, run);
  run.resident = false;
  settleResidences(state, run);
  if (state.runs.get(run.id) === run) state.runs.delete(run.id);
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

/**
 * Takes over what a proxy remembers of a resting run, unless something newer is known. Of `outdated` runs
 * the proxy knows better in any case.
 */
export function restoreRun(
  state: SchedulerState,
  effects: Effect[],
  entry: ResyncRun,
  outdated: ReadonlySet<Run>,
): Run | null {
  const activeAtMs = state.nowMs - entry.idleForMs;
  const known = state.runs.get(entry.run);
  const busy = known !== undefined && (known.heldTurns > 0 || known.inFlight.size > 0);
  const newer = known !== undefined && known.activeAtMs >= activeAtMs && !outdated.has(known);
  if (busy || newer) return null;
  const run = obtainRun(state, effects, entry);
  if (run === null) return null;
  stopResting(state, run);
  run.class = entry.class;
  run.caller = entry.caller;
  run.lastReplica = entry.replica;
  run.homes.clear();
  run.turns = Math.max(1, run.turns);
  if (!run.replicas.includes(entry.replica) && run.replicas.length < maxReplicasListed) {
    run.replicas.push(entry.replica);
  }
  run.activeAtMs = activeAtMs;
  run.rest = entry.phase;
  leavePause(run);
  const home = state.replicas.get(entry.replica);
  if (entry.phase === 'paused' && home?.member === true) {
    run.pausingOn = home;
    run.pausedContext = { tokens: entry.footprintTokens, prefix: [] };
  }
  run.resident = run.pausingOn !== null;
  run.lastOutcome = entry.phase === 'paused' ? 'paused' : 'done';
  settleResidences(state, run);
  startResting(state, run);
  return run;
}

/** For tests and status: what the run does now. */
export function phaseOf(run: Run): 'held' | 'generating' | 'paused' | 'idle' {
  if (run.inFlight.size > 0) return 'generating';
  return run.heldTurns > 0 ? 'held' : run.rest;
}

function startResting(state: SchedulerState, run: Run): void {
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

function stopResting(state: SchedulerState, run: Run): void {
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
