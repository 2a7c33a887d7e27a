/**
 * Replicas: members of the pool as configured, what probes say of them, and those that left the pool
 * while turns were still in flight on them.
 */
import type { Api, ReplicaConfig } from '../../contracts/config-file.ts';
import type { ReplicaId } from '../../contracts/ids.ts';
import { reweighCallers } from './callers.ts';
import { CacheOrder } from './cache-order.ts';
import { takeReport, unknownCapacity } from './capacity.ts';
import type { Effect, EngineLoad, SchedulerEvent } from './events.ts';
import { createLatencyLimit } from './latency-limit.ts';
import { Ledger } from './ledger.ts';
import { staleLoadProbes } from './limits.ts';
import { PrefixMap } from './prefix-map.ts';
import { rerouteRun } from './queue.ts';
import { reconnectRoutes } from './routes.ts';
import { endPausesOn } from './pauses.ts';
import type { Replica, SchedulerState } from './state.ts';
import { rejectUnknown } from './turn-events.ts';

type EventOf<Type extends SchedulerEvent['type']> = Extract<SchedulerEvent, { type: Type }>;

export function replicaProbed(
  state: SchedulerState,
  event: EventOf<'replicaProbed'>,
  effects: Effect[],
): void {
  const replica = state.replicas.get(event.replica);
  if (replica === undefined || !replica.member) return;
  const before = { healthy: replica.healthy, models: replica.models, apisSettled: replica.apisSettled };
  replica.healthy = event.healthy;
  if (replica.config.models === undefined && event.models !== undefined) {
    if (!sameNames(replica.models, event.models)) replica.models = new Set(event.models);
  }
  const otherApis = takeApis(replica, event.apis);
  takeLoad(replica, event);
  if (takeReport(replica.capacity, reportOf(replica, event.load))) {
    const record = { metric: 'capacity_changed', replica: replica.id, reason: 'reported' } as const;
    effects.push({ type: 'recorded', record });
  }
  const serves = otherApis || replica.models !== before.models || replica.apisSettled !== before.apisSettled;
  const stillOpen = replica.models === null || !replica.apisSettled;
  if (serves || (before.healthy === null && stillOpen)) {
    poolSettled(state, effects);
  } else if (event.healthy !== before.healthy) rerouteHeld(state);
  state.freed.add(replica);
}

/** New members, gone members, changed entries; also a new policy and new weights of callers. */
export function poolChanged(state: SchedulerState, event: EventOf<'poolChanged'>, effects: Effect[]): void {
  if (event.policy !== undefined) state.policy = event.policy;
  if (event.callers !== undefined) state.callerSettings = event.callers;
  reweighCallers(state);
  const named = new Set(event.replicas.map((config) => config.id));
  for (const replica of state.replicas.values()) {
    if (named.has(replica.id)) continue;
    replica.member = false;
    endPausesOn(state, replica);
    if (replica.inFlight === 0) state.replicas.delete(replica.id);
  }
  // In the order of the file, which breaks ties of placement.
  for (const config of event.replicas) {
    const known = state.replicas.get(config.id);
    state.replicas.delete(config.id);
    state.replicas.set(
      config.id,
      known === undefined ? createReplica(config) : configure(state, known, config),
    );
  }
  poolSettled(state, effects);
}

/** The replica a resync names; one that is not in the pool is counted until its turns have ended. */
export function obtainReplica(state: SchedulerState, id: ReplicaId): Replica {
  const known = state.replicas.get(id);
  if (known !== undefined) return known;
  const replica = createReplica({
    id,
    url: '',
    engine: 'none',
    kind: 'generative',
    healthPath: '/health',
    images: false,
  });
  replica.member = false;
  state.replicas.set(id, replica);
  return replica;
}

/** Forgets replicas that left the pool and have no turn in flight any more. */
export function sweepReplicas(state: SchedulerState): void {
  for (const replica of state.freed) {
    if (!replica.member && replica.inFlight === 0 && state.replicas.get(replica.id) === replica) {
      state.replicas.delete(replica.id);
    }
  }
}

function createReplica(config: ReplicaConfig): Replica {
  return {
    id: config.id,
    config,
    member: true,
    healthy: null,
    models: config.models === undefined ? null : new Set(config.models),
    toldApis: null,
    apisSettled: config.apis !== undefined,
    load: null,
    probesWithoutLoad: 0,
    inFlight: 0,
    pausedInteractive: 0,
    paused: 0,
    ledger: new Ledger(),
    cacheOrder: new CacheOrder(),
    slotOrder: new CacheOrder(),
    capacity: unknownCapacity(),
    latency: createLatencyLimit(),
    prefixes: new PrefixMap(),
    promptRatio: 1,
    batchCredit: 0,
    routes: new Set(),
  };
}

/** An entry that points elsewhere now, or returns, is as good as new: nothing known of it holds. */
function configure(state: SchedulerState, replica: Replica, config: ReplicaConfig): Replica {
  const moved =
    !replica.member || replica.config.url !== config.url || replica.config.engine !== config.engine;
  if (moved || replica.config.kvCacheTokens !== config.kvCacheTokens) replica.capacity = unknownCapacity();
  if (moved) {
    replica.healthy = null;
    replica.load = null;
    replica.probesWithoutLoad = 0;
    replica.latency = createLatencyLimit();
    replica.promptRatio = 1;
    replica.prefixes.clear();
    replica.cacheOrder.clear();
    replica.slotOrder.clear();
    endPausesOn(state, replica);
  }
  if (config.models !== undefined) {
    if (!sameNames(replica.models, config.models)) replica.models = new Set(config.models);
  } else if (moved || replica.config.models !== undefined) replica.models = null;
  if (moved || replica.config.kind !== config.kind) replica.toldApis = null;
  if (config.apis !== undefined) replica.apisSettled = true;
  else if (replica.toldApis === null) replica.apisSettled = false;
  replica.config = config;
  replica.member = true;
  return replica;
}

/** Models, APIs or members are other ones: every held turn finds its place anew. */
function poolSettled(state: SchedulerState, effects: Effect[]): void {
  rerouteHeld(state);
  reconnectRoutes(state);
  rejectUnknown(state, effects);
  for (const replica of state.replicas.values()) state.freed.add(replica);
}

/** Turns of resident runs may leave a replica that is unhealthy, and must not when it is healthy again. */
function rerouteHeld(state: SchedulerState): void {
  for (const run of state.runs.values()) if (run.heldTurns > 0) rerouteRun(state, run);
}

/** Whether what it has told is something else now. What does not answer any more serves what it did. */
function takeApis(replica: Replica, apis: readonly Api[] | null | undefined): boolean {
  if (apis === undefined || replica.config.apis !== undefined) return false;
  replica.apisSettled = true;
  if (apis === null || String(apis) === String(replica.toldApis)) return false;
  replica.toldApis = [...apis];
  return true;
}

function takeLoad(replica: Replica, event: EventOf<'replicaProbed'>): void {
  if (event.load !== undefined) {
    replica.load = event.load;
    replica.probesWithoutLoad = 0;
    return;
  }
  replica.probesWithoutLoad += 1;
  if (replica.probesWithoutLoad >= staleLoadProbes) replica.load = null;
}

/** What its entry says of its memory goes before what the engine tells. */
function reportOf({ config }: Replica, load: EngineLoad | undefined): Parameters<typeof takeReport>[1] {
  return {
    capacityTokens: config.kvCacheTokens ?? load?.capacityTokens ?? null,
    capacityContexts: load?.capacityContexts ?? null,
  };
}

function sameNames(known: ReadonlySet<string> | null, names: readonly string[]): boolean {
  return known !== null && known.size === names.length && names.every((name) => known.has(name));
}
