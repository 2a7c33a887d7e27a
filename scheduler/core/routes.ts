/**
 * Which replicas a turn may go to (rules 1 and 3): by model and API, the one replica to which its run is
 * pinned, or the one that stores what it goes on from. Health and room are not asked here but at admission.
 */
import { keepsRunState, servedApis, type Api } from '../../contracts/config-file.ts';
import { callerQueueBefore } from './order.ts';
import { Heap } from './heap.ts';
import { homeFor } from './homes.ts';
import { isResidentOn } from './residence.ts';
import type { CallerQueue, Lane, Replica, Route, Run, SchedulerState, Strand } from './state.ts';

/** As its entry says, as it has told, or as its kind is there for. */
export function apisOf(replica: Pick<Replica, 'config' | 'toldApis'>): readonly Api[] {
  return servedApis(replica.config, replica.toldApis);
}

/** Whether turns of runs go there at all. */
export function generates(replica: Replica): boolean {
  return replica.config.kind === 'generative' && apisOf(replica).some(keepsRunState);
}

/** Whether the kind of a member fits an API. */
function isFor({ config }: Replica, api: Api): boolean {
  return config.kind === 'generative' || !keepsRunState(api);
}

/** Whether the kind and API of a member fit, whatever its models. */
function speaks(replica: Replica, api: Api): boolean {
  return replica.member && isFor(replica, api) && apisOf(replica).includes(api);
}

/** Whether it may turn out to: it has not been asked yet. */
function maySpeak(replica: Replica, api: Api): boolean {
  return !replica.apisSettled && isFor(replica, api);
}

export function serves(replica: Replica, model: string | null, api: Api): boolean {
  return speaks(replica, api) && hasModel(replica, model);
}

/** @param model null: any will do. */
function hasModel(replica: Replica, model: string | null): boolean {
  return model === null || replica.models?.has(model) === true;
}

/**
 * Whether the pool serves a model over an API. `unsettled`: it cannot be told yet, because a replica that
 * might serve it was never probed, or because no replica that might has told so far; such a turn is held.
 */
export function knowledgeOf(
  state: SchedulerState,
  model: string | null,
  api: Api,
): 'served' | 'unsettled' | 'unknown' {
  let members = 0;
  let speaking = 0;
  let told = 0;
  let unprobed = 0;
  let mayServe = false;
  for (const replica of state.replicas.values()) {
    if (!replica.member) continue;
    members += 1;
    if (!speaks(replica, api) && !maySpeak(replica, api)) continue;
    if (serves(replica, model, api)) return 'served';
    speaking += 1;
    if (hasModel(replica, model)) mayServe = true;
    else if (replica.models !== null) told += 1;
    else if (replica.healthy === null) unprobed += 1;
  }
  if (members === 0) return 'unsettled';
  if (speaking === 0) return 'unknown';
  return mayServe || unprobed > 0 || told === 0 ? 'unsettled' : 'unknown';
}

/** Where the next turn of a run for this model must go; null: it is free to move. */
export function pinOf(state: SchedulerState, run: Run, model: string | null, api: Api): Replica | null {
  const replica = ableReplica(state, homeOf(run, model), model, api);
  if (replica === null) return null;
  return isResidentOn(run, replica) ? replica : null;
}

/** The replica of the run's last turn for this model, else of its last turn for any. */
export function homeOf(run: Run, model: string | null): Replica['id'] | null {
  return homeFor(run, model ?? '')?.replica ?? run.lastReplica;
}

/**
 * The replica that stores what a strand goes on from; null: nothing, or it cannot serve it any more. What is of
 * no run goes on from nothing.
 */
function keeperOf(state: SchedulerState, { run, model, api, stored }: Strand): Replica | null {
  if (stored === undefined || run === null) return null;
  return ableReplica(state, stored.replica ?? homeOf(run, model), model, api);
}

function ableReplica(
  state: SchedulerState,
  id: Replica['id'] | null,
  model: string | null,
  api: Api,
): Replica | null {
  const replica = id === null ? undefined : state.replicas.get(id);
  if (replica === undefined || replica.healthy === false || !serves(replica, model, api)) return null;
  return replica;
}

/** The route on which a strand stands now. */
export function routeFor(state: SchedulerState, strand: Strand): Route {
  const { model, api } = strand;
  const pinnedTo = strand.run === null ? null : pinOf(state, strand.run, model, api);
  const keptBy = keeperOf(state, strand);
  if (pinnedTo !== null && (keptBy === null || keptBy === pinnedTo)) {
    return obtainRoute(state, `replica ${pinnedTo.id}`, { pinnedTo, keptBy: null, model: null, api: null });
  }
  const key = `model ${api} ${keptBy?.id ?? ''} ${model ?? ''}`;
  return obtainRoute(state, key, { pinnedTo: null, keptBy, model, api });
}

function obtainRoute(
  state: SchedulerState,
  key: string,
  leads: Pick<Route, 'pinnedTo' | 'keptBy' | 'model' | 'api'>,
): Route {
  const known = state.routes.get(key);
  if (known !== undefined) return known;
  const route: { -readonly [K in keyof Route]: Route[K] } = {
    key,
    ...leads,
    replicas: [],
    lanes: [] as unknown as Route['lanes'],
  };
  route.lanes = [createLane(route, 0), createLane(route, 1), createLane(route, 2), createLane(route, 3)];
  state.routes.set(key, route);
  connect(state, route);
  return route;
}

function createLane(route: Route, rank: number): Lane {
  return { route, rank, queues: new Heap<CallerQueue>(callerQueueBefore), byCaller: new Map() };
}

function connect(state: SchedulerState, route: Route): void {
  for (const replica of route.replicas) replica.routes.delete(route);
  const { pinnedTo, keptBy, model, api } = route;
  if (pinnedTo !== null) route.replicas = pinnedTo.member ? [pinnedTo] : [];
  else if (api !== null) {
    const able = keptBy === null ? [...state.replicas.values()] : [keptBy];
    route.replicas = able.filter((replica) => serves(replica, model, api));
  }
  for (const replica of route.replicas) replica.routes.add(route);
}

/** Connects every route anew after members, models or APIs changed; drops those that nothing stands on. */
export function reconnectRoutes(state: SchedulerState): void {
  for (const route of state.routes.values()) {
    connect(state, route);
    if (isEmpty(route)) dropRoute(state, route);
  }
}

/** Forgets an empty route that no replica serves, so that unknown names leave nothing behind. */
export function pruneRoute(state: SchedulerState, route: Route): void {
  if (route.replicas.length === 0 && isEmpty(route)) dropRoute(state, route);
}

function dropRoute(state: SchedulerState, route: Route): void {
  for (const replica of route.replicas) replica.routes.delete(route);
  route.replicas = [];
  state.routes.delete(route.key);
  state.touched.delete(route);
}

/** Whether turns of runs that are not resident there wait for this replica. */
export function someWaitFor(replica: Replica): boolean {
  for (const route of replica.routes) if (route.pinnedTo === null && !isEmpty(route)) return true;
  return false;
}

function isEmpty(route: Route): boolean {
  return route.lanes.every((lane) => lane.queues.size === 0);
}

/**
 * Another turn may stand first on this route now. On routes that share a replica with it, turns may no longer
 * have to wait behind it.
 */
export function wakeRoute(state: SchedulerState, route: Route): void {
  state.touched.add(route);
  if (route.pinnedTo === null) for (const replica of route.replicas) state.freed.add(replica);
}

/** The routes on which a turn may have become admissible, now that room on `replica` may have grown. */
export function touchRoutesOf(state: SchedulerState, replica: Replica): void {
  for (const route of replica.routes) if (!isEmpty(route)) state.touched.add(route);
}
