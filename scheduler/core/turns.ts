/**
 * The life of a turn: held, in flight, gone. Each function keeps all counts right (run, caller, replica,
 * proxy, deadlines); which turn goes when and where is decided elsewhere.
 */
import { keepsRunState } from '../../contracts/config-file.ts';
import type { RejectCode } from '../../contracts/error-codes.ts';
import type { TurnSpec } from '../../contracts/link-protocol.ts';
import { chargeAdmission, correctCharge } from './charges.ts';
import { countHeld, countInFlight, obtainCaller } from './callers.ts';
import type { Effect, Recorded, TurnReport } from './events.ts';
import { expectedOutput } from './expectations.ts';
import { footprintOf, leftFor } from './footprint.ts';
import { takeLoss } from './losses.ts';
import { dequeue, enqueue, rerouteRun } from './queue.ts';
import { notePrefix } from './prefix-placement.ts';
import { isResidentOn } from './residence.ts';
import { obtainRun, runAdmitted, runHeld, runReleased, runUnheld } from './runs.ts';
import type { Proxy, Replica, SchedulerState, Turn } from './state.ts';
import { learnFrom } from './usage-learning.ts';

export function record(effects: Effect[], entry: Recorded): void {
  effects.push({ type: 'recorded', record: entry });
}

export function reject(effects: Effect[], proxy: Proxy, turn: TurnSpec['turn'], code: RejectCode): void {
  effects.push({ type: 'reject', proxy: proxy.id, turn, code });
  record(effects, { metric: 'rejected', code });
}

/** Makes a turn that keeps its first arrival time when it is a retry; null: there are too many runs. */
function createTurn(
  state: SchedulerState,
  effects: Effect[],
  proxy: Proxy,
  spec: TurnSpec,
  forMs: number,
): Turn | null {
  const run = keepsRunState(spec.api) ? obtainRun(state, effects, spec) : null;
  if (run === null && keepsRunState(spec.api)) return null;
  const loss = takeLoss(state, spec);
  const heldSinceMs = state.nowMs - forMs;
  const turn: Turn = {
    spec,
    proxy,
    run,
    caller: obtainCaller(state, spec.caller),
    arrivedAtMs: Math.min(heldSinceMs, loss?.arrivedAtMs ?? heldSinceMs),
    heldSinceMs,
    sequence: loss?.sequence ?? state.nextSequence++,
    countsAs: spec.class,
    avoid: loss?.failedOn ?? null,
    strand: null,
    inStrand: null,
    ageing: null,
    wasPinned: false,
    replica: null,
    started: false,
    expectedOutputTokens: expectedOutput(state.expectations, spec),
    promptRatio: run?.promptRatio ?? null,
    footprintTokens: 0,
    leftTokens: null,
    chargedTokens: 0,
    admittedAtMs: 0,
    heardAtMs: state.nowMs,
    silence: null,
  };
  state.turns.set(spec.turn, turn);
  proxy.turns.add(turn);
  return turn;
}

/** Holds a turn that arrived `heldForMs` ago; rejects it as `overloaded` when no run can be made for it. */
export function holdTurn(
  state: SchedulerState,
  effects: Effect[],
  proxy: Proxy,
  spec: TurnSpec,
  heldForMs: number,
): void {
  const turn = createTurn(state, effects, proxy, spec, heldForMs);
  if (turn === null) {
    reject(effects, proxy, spec.turn, 'overloaded');
    return;
  }
  state.heldTurns += 1;
  countHeld(state, turn.caller, 1);
  if (turn.run !== null) runHeld(state, turn.run, spec, heldForMs);
  if (turn.countsAs === 'batch') {
    if (state.nowMs - turn.heldSinceMs >= state.policy.maxBatchHoldMs) turn.countsAs = 'interactive';
    else turn.ageing = state.ageing.push(turn);
  }
  enqueue(state, turn);
}

/** Takes a held turn out without admission; the caller says to whom and why. */
export function dropHeldTurn(state: SchedulerState, turn: Turn): void {
  unhold(state, turn);
  countHeld(state, turn.caller, -1);
  forgetTurn(state, turn);
  if (turn.run !== null) runUnheld(state, turn.run);
}

/** Puts a held turn in flight on `replica` and tells its proxy. */
export function admitTurn(state: SchedulerState, effects: Effect[], turn: Turn, replica: Replica): void {
  const resumed = turn.run !== null && turn.run.lastReplica !== null;
  turn.wasPinned = turn.strand?.queue?.lane.route.pinnedTo === replica;
  unhold(state, turn);
  if (turn.run !== null) turn.run.heldTurns -= 1;
  takePlace(state, turn, replica, state.nowMs);
  countHeld(state, turn.caller, -1);
  if (turn.run !== null) rerouteRun(state, turn.run);
  effects.push({ type: 'admit', proxy: turn.proxy.id, turn: turn.spec.turn, replica: replica.id });
  record(effects, {
    metric: 'admitted',
    class: turn.spec.class,
    resumed,
    replica: replica.id,
    holdMs: state.nowMs - turn.heldSinceMs,
  });
}

/** Counts a turn that a proxy already has in flight, room or not; false: there are too many runs. */
export function restoreInFlight(
  state: SchedulerState,
  effects: Effect[],
  proxy: Proxy,
  spec: TurnSpec,
  replica: Replica,
  admittedForMs: number,
): Turn | null {
  const turn = createTurn(state, effects, proxy, spec, admittedForMs);
  if (turn === null) return null;
  takePlace(state, turn, replica, state.nowMs - admittedForMs);
  if (turn.run !== null) {
    turn.run.class = spec.class;
    turn.run.caller = spec.caller;
    rerouteRun(state, turn.run);
  }
  return turn;
}

/**
 * Ends a turn in flight: its place is free at once, its run rests or waits on. The caller decides whether
 * it counts as lost.
 */
export function releaseTurn(state: SchedulerState, turn: Turn, report: TurnReport): void {
  const { replica, run } = turn;
  if (replica === null) return;
  if (turn.silence !== null) state.silences.remove(turn.silence);
  turn.silence = null;
  replica.inFlight -= 1;
  state.freed.add(replica);
  correctCharge(state, turn, report);
  countInFlight(state, turn.caller, -1);
  if (report.usage !== undefined && run !== null) learnFrom(state, turn, replica, report.usage);
  forgetTurn(state, turn);
  if (run === null) return;
  runReleased(state, run, turn, report);
  rerouteRun(state, run);
}

/** Lets a batch turn that was held too long count as interactive. */
export function ageTurn(state: SchedulerState, turn: Turn): void {
  if (turn.ageing !== null) state.ageing.remove(turn.ageing);
  turn.ageing = null;
  dequeue(state, turn);
  turn.countsAs = 'interactive';
  enqueue(state, turn);
}

/** Something was heard of a turn in flight. */
export function heardOfTurn(state: SchedulerState, turn: Turn): void {
  turn.heardAtMs = state.nowMs;
  if (turn.silence !== null) state.silences.moved(turn.silence);
}

function takePlace(state: SchedulerState, turn: Turn, replica: Replica, admittedAtMs: number): void {
  const { run } = turn;
  turn.replica = replica;
  turn.admittedAtMs = admittedAtMs;
  turn.footprintTokens = footprintOf(turn, replica);
  turn.leftTokens = run !== null && isResidentOn(run, replica) ? leftFor(run, turn, replica) : null;
  turn.heardAtMs = state.nowMs;
  turn.silence = state.silences.push(turn);
  replica.inFlight += 1;
  countInFlight(state, turn.caller, 1);
  chargeAdmission(state, turn, replica);
  notePrefix(replica, turn);
  if (run !== null) runAdmitted(state, run, turn, replica);
}

function unhold(state: SchedulerState, turn: Turn): void {
  dequeue(state, turn);
  if (turn.ageing !== null) state.ageing.remove(turn.ageing);
  turn.ageing = null;
  state.heldTurns -= 1;
}

function forgetTurn(state: SchedulerState, turn: Turn): void {
  state.turns.delete(turn.spec.turn);
  turn.proxy.turns.delete(turn);
}
