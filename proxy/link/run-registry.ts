/**
 * The live runs that this proxy has served: what `GET /v1/runs/{id}` tells, and what a scheduler that
 * has restarted needs to keep affinity. Pure: time is handed in. Bounded in number and age.
 */
import type { Caller, ReplicaId, RunId } from '../../contracts/ids.ts';
import type { ResyncRun, TurnOutcome, Usage } from '../../contracts/link-protocol.ts';
import type { RunPhase } from '../../contracts/scheduler-status.ts';
import type { ServiceClass } from '../../contracts/service-class.ts';

interface LiveRun {
  readonly run: RunId;
  readonly caller: Caller;
  class: ServiceClass;
  held: number;
  inFlight: number;
  /** How its last turn ended. */
  rest: 'paused' | 'idle';
  replica: ReplicaId | null;
  footprintTokens: number;
  turns: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  heldMs: number;
  activeAtMs: number;
}

export interface RunReport {
  readonly id: RunId;
  readonly object: 'run';
  readonly phase: RunPhase;
  readonly replica: ReplicaId | null;
  readonly class: ServiceClass;
  readonly caller: Caller;
  readonly turns: number;
  readonly tokens: { readonly prompt: number; readonly cached: number; readonly completion: number };
  readonly heldMs: number;
  readonly idleMs: number;
}

export interface FinishedTurn {
  readonly outcome: TurnOutcome;
  readonly usage: Usage | null;
  readonly cachedTokens: number | null;
}

export class RunRegistry {
  // Insertion order is order of activity: each activity inserts anew.
  readonly #runs = new Map<RunId, LiveRun>();
  readonly #maxRuns: number;
  readonly #forgetAfterMs: number;

  constructor(options: { maxRuns: number; forgetAfterMs: number }) {
    this.#maxRuns = options.maxRuns;
    this.#forgetAfterMs = options.forgetAfterMs;
  }

  get size(): number {
    return this.#runs.size;
  }

  turnHeld(turn: { run: RunId; caller: Caller; class: ServiceClass }, nowMs: number): void {
    const run = this.#touch(turn, nowMs);
    run.class = turn.class;
    run.held += 1;
  }

  /** A held turn is none any more without having been admitted. */
  turnDropped(run: RunId): void {
    const known = this.#runs.get(run);
    if (known !== undefined) known.held -= 1;
  }

  turnAdmitted(
    turn: { run: RunId; caller: Caller; class: ServiceClass },
    replica: ReplicaId,
    heldMs: number,
    nowMs: number,
  ): void {
    const run = this.#touch(turn, nowMs);
    run.held -= 1;
    run.inFlight += 1;
    run.replica = replica;
    run.heldMs += heldMs;
    run.turns += 1;
  }

  turnFinished(id: RunId, finished: FinishedTurn, nowMs: number): void {
    const known = this.#runs.get(id);
    if (known === undefined) return;
    const run = this.#touch(known, nowMs);
    run.inFlight -= 1;
    run.rest = finished.outcome === 'paused' ? 'paused' : 'idle';
    run.cachedTokens += finished.cachedTokens ?? 0;
    if (finished.usage === null) return;
    run.promptTokens += finished.usage.promptTokens;
    run.completionTokens += finished.usage.completionTokens;
    run.footprintTokens = finished.usage.promptTokens + finished.usage.completionTokens;
  }

  forget(run: RunId): void {
    this.#runs.delete(run);
  }

  /** The replica to which the scheduler will send the run's next turn and no other; null when it may move. */
  pinnedReplica(id: RunId): ReplicaId | null {
    const run = this.#runs.get(id);
    return run !== undefined && (run.inFlight > 0 || run.rest === 'paused') ? run.replica : null;
  }

  report(id: RunId, nowMs: number): RunReport | null {
    const run = this.#runs.get(id);
    if (run === undefined) return null;
    return {
      id,
      object: 'run',
      phase: run.inFlight > 0 ? 'generating' : run.held > 0 ? 'held' : run.rest,
      replica: run.replica,
      class: run.class,
      caller: run.caller,
      turns: run.turns,
      tokens: { prompt: run.promptTokens, cached: run.cachedTokens, completion: run.completionTokens },
      heldMs: Math.round(run.heldMs),
      idleMs: run.inFlight + run.held > 0 ? 0 : Math.max(0, Math.round(nowMs - run.activeAtMs)),
    };
  }

  /** Runs between turns that have been somewhere: those in flight are told of by their turns. */
  resync(nowMs: number): ResyncRun[] {
    const runs: ResyncRun[] = [];
    for (const run of this.#runs.values()) {
      if (run.inFlight > 0 || run.replica === null) continue;
      runs.push({
        run: run.run,
        class: run.class,
        caller: run.caller,
        replica: run.replica,
        phase: run.rest,
        footprintTokens: run.footprintTokens,
        idleForMs: Math.max(0, Math.round(nowMs - run.activeAtMs)),
      });
    }
    return runs;
  }

  /** Forgets runs that have been idle too long. */
  sweep(nowMs: number): void {
    for (const run of this.#runs.values()) {
      if (nowMs - run.activeAtMs < this.#forgetAfterMs) return;
      if (run.held === 0 && run.inFlight === 0) this.#runs.delete(run.run);
    }
  }

  #touch(turn: { run: RunId; caller: Caller; class: ServiceClass }, nowMs: number): LiveRun {
    const known = this.#runs.get(turn.run);
    const run: LiveRun = known ?? {
      run: turn.run,
      caller: turn.caller,
      class: turn.class,
      held: 0,
      inFlight: 0,
      rest: 'idle',
      replica: null,
      footprintTokens: 0,
      turns: 0,
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: 0,
      heldMs: 0,
      activeAtMs: nowMs,
    };
    run.activeAtMs = nowMs;
    this.#runs.delete(run.run);
    this.#runs.set(run.run, run);
    if (known === undefined && this.#runs.size > this.#maxRuns) this.#evict();
    return run;
  }

  /** The run that has been idle longest makes room; one with a turn never does, those are bounded elsewhere. */
  #evict(): void {
    for (const run of this.#runs.values()) {
      if (run.held > 0 || run.inFlight > 0) continue;
      this.#runs.delete(run.run);
      return;
    }
  }
}
