/**
 * The life of a run: it is known from its first turn, generates while a turn is in flight, rests (paused
 * or idle) while it has none, and is forgotten when it has rested too long. Keeps the reservation of a
 * paused run (its place on its replica) and the replicas its turns went to. Moves no turn.
 */
import type { ReplicaId } from '../../contracts/ids.ts';
import type { ResyncRun, TurnSpec } from '../../contracts/link-protocol.ts';
import type { Effect, TurnReport } from './events.ts';
import { maxReplicasListed, maxRuns } from './limits.ts';
import {
  endReservation,
  endsPause,
  isPause,
  keepsPlace,
  leavePause,
  notePauseOf,
  pause,
  startResting,
  stopResting,
} from './pauses.ts';
import { homeFor, moveHome } from './homes.ts';
import { noteEnd } from './returns.ts';
import { settleResidences } from './residence.ts';
import { none, withOne, type Replica, type Run, type SchedulerState, type Turn } from './state.ts';

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
    strands: null,
    heldTurns: 0,
    inFlight: none,
    homes: none,
    lastReplica: null,
    rest: 'idle',
    reservedOn: null,
    resident: false,
    pausingOn: null,
    pausedContext: null,
    pausedAtMs: 0,
    toolNames: none,
    restsSinceMs: null,
    lastOutcome: null,
    cameBackSoon: null,
    promptRatio: null,
    residences: none,
    ended: false,
    turns: 0,
    pauses: 0,
    replicas: none,
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
  if (run.heldTurns > 0 || run.inFlight.length > 0 || run.ended) return;
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
  const home = homeFor(run, model);
  if (home?.replica !== replica.id) {
    const previous = home === undefined ? run.lastReplica : home.served ? home.replica : home.previous;
    moveHome(run, model, { model, replica: replica.id, served: false, previous });
  }
  if (endsPause(run, turn)) leavePause(run);
  run.lastReplica = replica.id;
  run.resident = false;
  run.inFlight = withOne(run.inFlight, turn);
  run.turns += 1;
  listReplica(run, replica.id);
  run.activeAtMs = state.nowMs;
  settleResidences(state, run);
}

/** A turn of the run that was in flight has ended; when it was the last, the run rests or waits on. */
export function runReleased(state: SchedulerState, run: Run, turn: Turn, report: TurnReport): void {
  const { outcome } = report;
  const others = run.inFlight.filter((other) => other !== turn);
  run.inFlight = others.length === 0 ? none : others;
  run.lastOutcome = outcome;
  if (run.ended) {
    settleResidences(state, run);
    return;
  }
  if (isPause(state, run, turn, report)) pause(state, run, turn, report);
  const home = homeFor(run, turn.spec.model ?? '');
  if (home?.replica === turn.replica?.id && home !== undefined) {
    if (outcome === 'paused' || outcome === 'done') home.served = true;
    else if (!home.served && run.inFlight.length === 0) leaveHome(run, turn);
  }
  if (run.inFlight.length === 0) {
    if (outcome === 'done') noteEnd(state.returns, run.class);
    run.activeAtMs = state.nowMs;
    run.rest = run.pausingOn === null ? 'idle' : 'paused';
    run.resident = keepsPlace(state, run);
  }
  settleResidences(state, run);
  if (run.inFlight.length === 0 && run.heldTurns === 0) startResting(state, run);
}

/** A replica that has served nothing is no home: what failed there goes back to the one before. */
function leaveHome(run: Run, turn: Turn): void {
  const model = turn.spec.model ?? '';
  const previous = homeFor(run, model)?.previous ?? null;
  moveHome(run, model, previous === null ? null : { model, replica: previous, served: true, previous: null });
  run.lastReplica = previous;
}

function listReplica(run: Run, id: ReplicaId): void {
  if (run.replicas.includes(id) || run.replicas.length >= maxReplicasListed) return;
  run.replicas = withOne(run.replicas, id);
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
  const busy = known !== undefined && (known.heldTurns > 0 || known.inFlight.length > 0);
  const newer = known !== undefined && known.activeAtMs >= activeAtMs && !outdated.has(known);
  if (busy || newer) return null;
  const run = obtainRun(state, effects, entry);
  if (run === null) return null;
  stopResting(state, run);
  run.class = entry.class;
  run.caller = entry.caller;
  run.lastReplica = entry.replica;
  run.homes = none;
  run.turns = Math.max(1, run.turns);
  listReplica(run, entry.replica);
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
  if (run.inFlight.length > 0) return 'generating';
  return run.heldTurns > 0 ? 'held' : run.rest;
}
