/**
 * The state of the scheduler: what it holds, and how its parts refer to each other. It is owned by one
 * caller and changed in place by `step` alone. No rule is in here.
 *
 * Held turns stand in queues: a route (a model and API, or one replica for pinned runs) has four lanes
 * (class, resume before new), a lane has a queue for each caller, and that holds strands: the turns of one
 * run that are alike in all that decides where they stand. So when a run starts or stops to generate,
 * its strands move and never its turns one by one.
 */
import type { Api, Callers, Policy, ReplicaConfig } from '../../contracts/config-file.ts';
import type { Caller, ProxyId, ReplicaId, RunId, TurnId } from '../../contracts/ids.ts';
import type { TurnOutcome, TurnSpec } from '../../contracts/link-protocol.ts';
import type { ServiceClass } from '../../contracts/service-class.ts';
import type { CacheOrder } from './cache-order.ts';
import type { Capacity } from './capacity.ts';
import type { EngineLoad } from './events.ts';
import { createExpectations, type Expectations } from './expectations.ts';
import { Heap, type HeapEntry } from './heap.ts';
import type { LatencyLimit } from './latency-limit.ts';
import type { Context, Ledger } from './ledger.ts';
import type { PauseStatistics } from './pause-statistics.ts';
import type { PrefixMap } from './prefix-map.ts';
import { createReturns, type Returns } from './returns.ts';

export interface Replica {
  readonly id: ReplicaId;
  config: ReplicaConfig;
  /** False: no longer in the pool, kept until its last turn has ended. */
  member: boolean;
  /** null: not probed yet. */
  healthy: boolean | null;
  /** null: not known yet. */
  models: ReadonlySet<string> | null;
  /** What it has told that it serves; null: nothing so far. Its entry goes before it. */
  toldApis: readonly Api[] | null;
  /** Whether it was asked for its APIs, so that what it has not told by then is not there. */
  apisSettled: boolean;
  load: EngineLoad | null;
  /** Probes in a row that brought no load. */
  probesWithoutLoad: number;
  inFlight: number;
  /** Interactive runs paused here with their reservation unexpired. */
  pausedInteractive: number;
  /** Runs of either class paused here with their reservation unexpired. */
  paused: number;
  /** Contexts of resident runs. */
  readonly ledger: Ledger;
  /** What its engine evicts next, as far as that can be told. */
  readonly cacheOrder: CacheOrder;
  /** The same in whole contexts, of an engine with slots. */
  readonly slotOrder: CacheOrder;
  capacity: Capacity;
  /** In force only where the pool says `limit: latency`. */
  latency: LatencyLimit;
  readonly prefixes: PrefixMap;
  /** Tokens as the engine counts them for one that proxies estimate. */
  promptRatio: number;
  /** Share of a next admission that batch turns have earned here, 0 to 1. */
  batchCredit: number;
  /** Where turns wait that may come here. */
  readonly routes: Set<Route>;
}

export interface Proxy {
  readonly id: ProxyId;
  readonly turns: Set<Turn>;
  /** null: connected. */
  lostAtMs: number | null;
}

/** An empty list of anything: one for all, since a run that rests keeps many lists. */
export const none: readonly never[] = [];

/** V8 makes room for seventeen where a list is spread into a new one, also when it is empty. */
export function withOne<T>(list: readonly T[], one: T): readonly T[] {
  return list.length === 0 ? [one] : [...list, one];
}

/** Where the turns of a run for one model went last. */
export interface Home {
  /** The empty name stands for "any model". */
  readonly model: string;
  readonly replica: ReplicaId;
  /** Whether a turn has succeeded there; until then a failure leads back to `previous`. */
  served: boolean;
  readonly previous: ReplicaId | null;
}

/** A context of a run that a replica's ledger counts. */
export interface Residence extends Context {
  readonly replica: Replica;
  readonly generating: boolean;
  /** Of its tokens, those of a beginning that others had there before it. */
  readonly sharedTokens: number;
}

/** Up to a hundred thousand are known, and most of them rest: those keep no list of their own that is empty. */
export interface Run {
  readonly id: RunId;
  class: ServiceClass;
  caller: Caller;
  /** Its held turns, by what decides where they stand; null: it has none. */
  strands: Map<string, Strand> | null;
  heldTurns: number;
  /** A run with any is generating. */
  inFlight: readonly Turn[];
  /** One for each model. */
  homes: readonly Home[];
  /** Where its last turn went, whatever the model. */
  lastReplica: ReplicaId | null;
  /** What it is while no turn is in flight. */
  rest: 'paused' | 'idle';
  /** The replica that counts it as paused; null: none does. */
  reservedOn: Replica | null;
  /** Whether its next turn must go to its home: true from its pause until its reservation ends. */
  resident: boolean;
  /** Where a turn has ended in tool calls since the run began to generate; null: none has. */
  pausingOn: Replica | null;
  /** What it left there. */
  pausedContext: Context | null;
  pausedAtMs: number;
  /** The tools it pauses on; empty when they are not known. */
  toolNames: readonly string[];
  /** Since when it rests; null while it has turns. */
  restsSinceMs: number | null;
  /** Of the turn that ended last. */
  lastOutcome: TurnOutcome | null;
  /** Whether its last finished reply was followed by another turn within the time of a reservation; null: it had none. */
  cameBackSoon: boolean | null;
  /** Tokens as the engine counted them for one of the estimate, at its last turn; null: not known. */
  promptRatio: number | null;
  /** Where ledgers count it: at most one a replica. */
  residences: readonly Residence[];
  /** Ended by its client; only its turns in flight still refer to it. */
  ended: boolean;
  turns: number;
  pauses: number;
  replicas: readonly ReplicaId[];
  activeAtMs: number;
  reservedUntilMs: number;
  resting: HeapEntry<Run> | null;
  reservation: HeapEntry<Run> | null;
}

export interface CallerState {
  readonly id: Caller;
  weight: number;
  inFlight: number;
  heldTurns: number;
  /** Tokens served, by their cost and over its weight. */
  servedTokens: number;
  /** What fairness compares; the least goes first. */
  share: number;
  readonly queues: Set<CallerQueue>;
  /** Its entry among the callers with held turns. */
  waiting: HeapEntry<CallerState> | null;
}

export interface Turn {
  readonly spec: TurnSpec;
  readonly proxy: Proxy;
  /** null: it keeps no run state. */
  readonly run: Run | null;
  readonly caller: CallerState;
  /** As of its first try; decides its place. */
  readonly arrivedAtMs: number;
  /** Since when it waits this time; decides its ageing. */
  readonly heldSinceMs: number;
  /** Breaks ties of arrival; a retry has that of its first try. */
  readonly sequence: number;
  /** Its own, or interactive once it has been held too long. */
  countsAs: ServiceClass;
  /** Where it failed just before; another replica is tried first. */
  readonly avoid: ReplicaId | null;
  strand: Strand | null;
  inStrand: HeapEntry<Turn> | null;
  ageing: HeapEntry<Turn> | null;
  /** Admitted to the one replica its run was resident on. */
  wasPinned: boolean;
  /** null: held. */
  replica: Replica | null;
  started: boolean;
  /** What its reply will probably come to, as it seemed when the turn came. */
  readonly expectedOutputTokens: number;
  /** How far its run's estimates were off by then; null: not known. */
  readonly promptRatio: number | null;
  /** Prompt and expected output, as counted at its admission. */
  footprintTokens: number;
  /** What its run had left on the replica, if this turn goes on with it; null: nothing is expected there. */
  leftTokens: number | null;
  /** What its caller was charged at its admission. */
  chargedTokens: number;
  admittedAtMs: number;
  heardAtMs: number;
  silence: HeapEntry<Turn> | null;
}

/**
 * Held turns of one run (or one turn without a run) alike in model, API, class, caller and in what they go on
 * from. Never empty.
 */
export interface Strand {
  readonly key: string;
  readonly run: Run | null;
  readonly caller: CallerState;
  readonly model: string | null;
  readonly api: Api;
  readonly class: ServiceClass;
  readonly stored: TurnSpec['stored'];
  readonly turns: Heap<Turn>;
  queue: CallerQueue | null;
  inQueue: HeapEntry<Strand> | null;
}

/** Strands of one caller in one lane. Never empty. */
export interface CallerQueue {
  readonly caller: CallerState;
  readonly lane: Lane;
  readonly strands: Heap<Strand>;
  inLane: HeapEntry<CallerQueue> | null;
}

export interface Lane {
  readonly route: Route;
  /** 0 interactive resume, 1 interactive new, 2 batch resume, 3 batch new. */
  readonly rank: number;
  readonly queues: Heap<CallerQueue>;
  readonly byCaller: Map<CallerState, CallerQueue>;
}

export interface Route {
  readonly key: string;
  /** The replica whose resident runs wait here; null: any of `replicas` will do. */
  readonly pinnedTo: Replica | null;
  /** The replica that stores what the turns here go on from: only that one will do; null: no such turns. */
  readonly keptBy: Replica | null;
  readonly model: string | null;
  readonly api: Api | null;
  replicas: readonly Replica[];
  readonly lanes: readonly [Lane, Lane, Lane, Lane];
}

/** A turn that was lost with its client or failed, in case it comes back. */
export interface Loss {
  readonly arrivedAtMs: number;
  readonly sequence: number;
  readonly lostAtMs: number;
  readonly failedOn: ReplicaId | null;
}

export interface SchedulerState {
  /** Never goes back, whatever the host's clock does. */
  nowMs: number;
  clockMs: number | null;
  /** `nowMs` of the last tick: what grows old does so in ticks. */
  tickedAtMs: number;
  policy: Policy;
  callerSettings: Callers;
  nextSequence: number;
  heldTurns: number;
  /** null: no proxy has resynced since the start. */
  firstResyncAtMs: number | null;
  /** Proxies of the scheduler before: once as many have resynced, none is waited for. null: it is not known. */
  expectedProxies: number | null;
  /** Nothing is admitted before this time: proxies are still telling what they have. */
  settledAtMs: number;
  readonly replicas: Map<ReplicaId, Replica>;
  readonly proxies: Map<ProxyId, Proxy>;
  readonly runs: Map<RunId, Run>;
  readonly turns: Map<TurnId, Turn>;
  readonly callers: Map<Caller, CallerState>;
  readonly routes: Map<string, Route>;
  readonly losses: Map<string, Loss>;
  readonly expectations: Expectations;
  readonly pauseStatistics: PauseStatistics;
  readonly returns: Returns;
  /** Counters of served tokens of callers without turns, the one gone longest first. */
  readonly idleCallers: Map<Caller, number>;
  /** Callers with held turns, the one served least first. */
  readonly waitingCallers: Heap<CallerState>;
  /** The counter of the caller served last: what a caller starts from when nobody waits. */
  servedFloor: number;
  /** Turns in flight, the one heard of longest ago first. */
  readonly silences: Heap<Turn>;
  /** Held batch turns, the one held longest first. */
  readonly ageing: Heap<Turn>;
  /** Paused runs, the one whose reservation ends first first. */
  readonly reservations: Heap<Run>;
  /** Runs without turns, the one that rests longest first. */
  readonly resting: Heap<Run>;
  /** Routes on which a turn may have become admissible during this step. */
  readonly touched: Set<Route>;
  /** Replicas on which room may have grown during this step. */
  readonly freed: Set<Replica>;
}

/** An empty scheduler; the pool arrives as a `poolChanged` event. */
export function createState(policy: Policy, callers: Callers): SchedulerState {
  return {
    nowMs: 0,
    clockMs: null,
    tickedAtMs: 0,
    policy,
    callerSettings: callers,
    nextSequence: 0,
    heldTurns: 0,
    firstResyncAtMs: null,
    expectedProxies: null,
    settledAtMs: 0,
    replicas: new Map(),
    proxies: new Map(),
    runs: new Map(),
    turns: new Map(),
    callers: new Map(),
    routes: new Map(),
    losses: new Map(),
    expectations: createExpectations(),
    pauseStatistics: new Map(),
    returns: createReturns(),
    idleCallers: new Map(),
    waitingCallers: new Heap<CallerState>((a, b) => a.servedTokens < b.servedTokens),
    servedFloor: 0,
    silences: new Heap<Turn>((a, b) => earlier(a.heardAtMs, b.heardAtMs, a.sequence, b.sequence)),
    ageing: new Heap<Turn>((a, b) => earlier(a.heldSinceMs, b.heldSinceMs, a.sequence, b.sequence)),
    reservations: new Heap<Run>((a, b) => a.reservedUntilMs < b.reservedUntilMs),
    resting: new Heap<Run>((a, b) => a.activeAtMs < b.activeAtMs),
    touched: new Set(),
    freed: new Set(),
  };
}

function earlier(aMs: number, bMs: number, aSequence: number, bSequence: number): boolean {
  return aMs < bMs || (aMs === bMs && aSequence < bSequence);
}
