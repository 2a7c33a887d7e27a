/**
 * The turns that this proxy holds or has in flight, and the one way to change each of them: its ticket.
 * Every end is reported exactly once, whoever comes first: reply, client, scheduler or shutdown. What it
 * sends goes out through `send`, which drops it while the link is down: a resync then tells the rest.
 */
import { keepsRunState } from '../../contracts/config-file.ts';
import type { ErrorCode } from '../../contracts/error-codes.ts';
import type { ReplicaId, RunId, TurnId } from '../../contracts/ids.ts';
import type { PoolReplica, ProxyMessage, TurnSpec } from '../../contracts/link-protocol.ts';
import type { RunRegistry } from './run-registry.ts';
import { refusedTicket, type AbortReason, type Decision, type Ticket, type TurnReport } from './ticket.ts';

/** What becomes of a turn when its ticket is used. */
interface TicketUse {
  abandon(live: LiveTurn): void;
  started(live: LiveTurn): void;
  finished(live: LiveTurn, report: TurnReport): void;
}

/** A turn and its ticket in one: thousands may be held, so each is one object with methods that all share. */
class LiveTurn implements Ticket {
  readonly spec: TurnSpec;
  /** Monotonic milliseconds of its first arrival, attempts before this one included. */
  readonly arrivedAtMs: number;
  readonly heldSinceMs: number;
  readonly decision: Promise<Decision>;
  /** Set until the scheduler hears of it: a turn that waits before it arrives again. */
  delay: NodeJS.Timeout | null = null;
  replica: ReplicaId | null = null;
  admittedAtMs = 0;
  hasStarted = false;
  hasProgressed = false;
  stop: ((reason: AbortReason) => void) | null = null;
  stopReason: AbortReason | null = null;
  readonly #use: TicketUse;
  #resolve: ((decision: Decision) => void) | null = null;

  constructor(use: TicketUse, spec: TurnSpec, heldForMs: number, nowMs: number) {
    this.#use = use;
    this.spec = spec;
    this.arrivedAtMs = nowMs - heldForMs;
    this.heldSinceMs = nowMs;
    this.decision = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get turn(): TurnId {
    return this.spec.turn;
  }

  decide(decision: Decision): void {
    this.#resolve?.(decision);
    this.#resolve = null;
  }

  /** It is over: what may still refer to it, refers to nothing of its request any more. */
  release(): void {
    this.stop = null;
  }

  abandon(): void {
    this.#use.abandon(this);
  }

  started(): void {
    this.#use.started(this);
  }

  progressed(): void {
    this.hasProgressed = true;
  }

  finished(report: TurnReport): void {
    this.#use.finished(this, report);
  }

  onAbort(stop: (reason: AbortReason) => void): void {
    this.stop = stop;
    if (this.stopReason !== null) stop(this.stopReason);
  }
}

export class LiveTurns {
  readonly #turns = new Map<TurnId, LiveTurn>();
  readonly #runs: RunRegistry;
  readonly #send: (message: ProxyMessage) => void;
  readonly #sendSoon: (message: ProxyMessage) => void;
  readonly #nowMs: () => number;
  readonly #maxHeld: number;
  readonly #ticketUse: TicketUse = {
    abandon: (live) => this.#abandon(live),
    started: (live) => this.#started(live),
    finished: (live, report) => this.#finished(live, report),
  };
  #held = 0;
  #draining = false;
  #onNoneInFlight: (() => void) | null = null;

  constructor(options: {
    runs: RunRegistry;
    send: (message: ProxyMessage) => void;
    /** In order with `send`, but may wait a few milliseconds for it. */
    sendSoon: (message: ProxyMessage) => void;
    nowMs: () => number;
    maxHeld: number;
  }) {
    this.#runs = options.runs;
    this.#send = options.send;
    this.#sendSoon = options.sendSoon;
    this.#nowMs = options.nowMs;
    this.#maxHeld = options.maxHeld;
  }

  get heldCount(): number {
    return this.#held;
  }

  get inFlightCount(): number {
    return this.#turns.size - this.#held;
  }

  /**
   * @param heldForMs age since the turn's first arrival.
   * @param delayMs the scheduler hears of the turn only after this.
   */
  arrive(spec: TurnSpec, heldForMs: number, delayMs = 0): Ticket {
    const nowMs = this.#nowMs();
    const refusal = this.#draining ? 'draining' : this.#held >= this.#maxHeld ? 'overloaded' : null;
    if (refusal !== null) return refusedTicket(spec.turn, refusal);
    const live = new LiveTurn(this.#ticketUse, spec, heldForMs, nowMs);
    if (delayMs > 0) live.delay = setTimeout(() => this.#announce(live), delayMs);
    this.#turns.set(spec.turn, live);
    this.#held += 1;
    this.#runsOf(spec)?.turnHeld(spec, nowMs);
    if (live.delay === null) this.#announce(live);
    return live;
  }

  /** The scheduler admits a turn to a replica; null: one that the pool does not hold. */
  admit(turn: TurnId, id: ReplicaId, replica: PoolReplica | null): void {
    const live = this.#turns.get(turn);
    if (live === undefined || replica === null) {
      // Its client left while the decision was on its way, or it cannot be sent there: frees the place.
      this.#send({ type: 'turnFinished', turn, outcome: 'failed' });
      if (live !== undefined) this.#drop(live, { kind: 'refused', code: 'engine_unreachable' });
      return;
    }
    if (live.replica !== null) return;
    const nowMs = this.#nowMs();
    live.replica = id;
    live.admittedAtMs = nowMs;
    this.#held -= 1;
    this.#runsOf(live.spec)?.turnAdmitted(live.spec, id, nowMs - live.heldSinceMs, nowMs);
    live.decide({ kind: 'admitted', replica });
  }

  reject(turn: TurnId, code: ErrorCode): void {
    const live = this.#turns.get(turn);
    if (live !== undefined && live.replica === null) this.#drop(live, { kind: 'refused', code });
  }

  /** The scheduler or a shutdown ends a turn, whatever its phase. */
  abort(turn: TurnId, reason: AbortReason): void {
    const live = this.#turns.get(turn);
    if (live === undefined) return;
    if (live.replica === null) {
      this.#drop(live, { kind: 'refused', code: reason });
      return;
    }
    if (live.stopReason !== null) return;
    live.stopReason = reason;
    live.stop?.(reason);
  }

  /** Ends all turns of a run that are here. */
  endRun(run: RunId): void {
    for (const [turn, live] of this.#turns) {
      if (live.spec.run !== run || this.#runsOf(live.spec) === null) continue;
      if (live.replica === null) this.#retract(live);
      this.abort(turn, 'run_ended');
    }
  }

  /** From now on nothing is held any more: what is held and what arrives is refused as `draining`. */
  drain(): void {
    this.#draining = true;
    for (const live of this.#turns.values()) {
      if (live.replica !== null) continue;
      this.#retract(live);
      this.#drop(live, { kind: 'refused', code: 'draining' });
    }
  }

  /** Cuts what is still in flight. */
  cut(): void {
    for (const turn of this.#turns.keys()) this.abort(turn, 'draining');
  }

  /** Resolves to true once nothing is in flight, or to false after `timeoutMs`. */
  async whenNoneInFlight(timeoutMs: number): Promise<boolean> {
    if (this.inFlightCount === 0) return true;
    return await new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#onNoneInFlight = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** Turns that received bytes since the last call. */
  takeProgressed(): TurnId[] {
    const turns: TurnId[] = [];
    for (const [turn, live] of this.#turns) {
      if (!live.hasProgressed) continue;
      live.hasProgressed = false;
      turns.push(turn);
    }
    return turns;
  }

  /** Held and in-flight turns as a new scheduler must hear of them. */
  resync(): Pick<Extract<ProxyMessage, { type: 'resync' }>, 'held' | 'inFlight'> {
    const nowMs = this.#nowMs();
    const since = (atMs: number): number => Math.max(0, Math.round(nowMs - atMs));
    const turns = [...this.#turns.values()];
    return {
      held: turns
        .filter((live) => live.replica === null && live.delay === null)
        .map((live) => ({ spec: live.spec, heldForMs: since(live.arrivedAtMs) })),
      inFlight: turns.flatMap((live) =>
        live.replica === null
          ? []
          : [
              {
                spec: live.spec,
                replica: live.replica,
                started: live.hasStarted,
                admittedForMs: since(live.admittedAtMs),
              },
            ],
      ),
    };
  }

  /** null: its API keeps no run, so none is remembered. */
  #runsOf(spec: TurnSpec): RunRegistry | null {
    return keepsRunState(spec.api) ? this.#runs : null;
  }

  /** A ticket outlives its attempt: the same turn id may be live again by another one. */
  #isLive(live: LiveTurn): boolean {
    return this.#turns.get(live.spec.turn) === live;
  }

  #abandon(live: LiveTurn): void {
    if (!this.#isLive(live)) return;
    if (live.replica !== null) {
      this.#finished(live, { outcome: 'failed' });
      return;
    }
    this.#retract(live);
    this.#drop(live, { kind: 'abandoned' });
  }

  #announce(live: LiveTurn): void {
    live.delay = null;
    const heldForMs = Math.round(this.#nowMs() - live.arrivedAtMs);
    this.#send({ type: 'turnArrived', spec: live.spec, heldForMs });
  }

  /** The scheduler may forget a held turn, if it has heard of it. */
  #retract(live: LiveTurn): void {
    if (live.delay === null) this.#send({ type: 'turnAbandoned', turn: live.spec.turn });
  }

  #drop(live: LiveTurn, decision: Decision): void {
    if (live.delay !== null) clearTimeout(live.delay);
    this.#turns.delete(live.spec.turn);
    live.release();
    this.#held -= 1;
    this.#runsOf(live.spec)?.turnDropped(live.spec.run);
    live.decide(decision);
  }

  #started(live: LiveTurn): void {
    if (!this.#isLive(live) || live.replica === null || live.hasStarted) return;
    live.hasStarted = true;
    this.#sendSoon({ type: 'turnStarted', turn: live.spec.turn });
  }

  #finished(live: LiveTurn, report: TurnReport): void {
    if (!this.#isLive(live) || live.replica === null) return;
    const { turn } = live.spec;
    this.#turns.delete(turn);
    live.release();
    const usage = report.usage ?? null;
    const cachedTokens = report.cachedTokens ?? null;
    this.#runsOf(live.spec)?.turnFinished(
      live.spec.run,
      { outcome: report.outcome, usage, cachedTokens },
      this.#nowMs(),
    );
    this.#send({
      type: 'turnFinished',
      turn,
      outcome: report.outcome,
      ...(usage === null ? {} : { usage }),
      ...(cachedTokens === null ? {} : { cachedTokens }),
      ...(report.toolNames === undefined || report.toolNames.length === 0
        ? {}
        : { toolNames: [...report.toolNames] }),
    });
    if (this.inFlightCount === 0) this.#onNoneInFlight?.();
  }
}
