/**
 * Proxies come, come back and get lost. What a proxy says on its resync is the truth about its turns: what
 * it holds is held, what it has in flight is counted in flight, what it does not name is gone.
 */
import type { TurnId } from '../../contracts/ids.ts';
import type { Effect, ProxyEvent, SchedulerEvent } from './events.ts';
import { lostProxyMs, resyncGraceMs } from './limits.ts';
import { rememberLoss } from './losses.ts';
import { rerouteRun } from './queue.ts';
import { obtainReplica } from './pool.ts';
import { knowledgeOf } from './routes.ts';
import { restoreRun } from './runs.ts';
import type { Proxy, Run, SchedulerState } from './state.ts';
import { abandonHeld } from './turn-events.ts';
import {
  dropHeldTurn,
  heardOfTurn,
  holdTurn,
  record,
  reject,
  releaseTurn,
  restoreInFlight,
} from './turns.ts';

type EventOf<Type extends ProxyEvent['type']> = Extract<ProxyEvent, { type: Type }>;

export function proxyResynced(
  state: SchedulerState,
  event: EventOf<'proxyResynced'>,
  effects: Effect[],
): void {
  const proxy = obtainProxy(state, event.proxy);
  proxy.lostAtMs = null;
  awaitOthers(state, event);
  const inFlight = new Map(event.inFlight.map((entry) => [entry.spec.turn, entry]));
  const held = new Set<TurnId>(event.held.map((entry) => entry.spec.turn));
  const outdated = dropUnnamed(state, proxy, effects, inFlight, held);

  // Counted before anything is admitted: places that are taken, then homes, then the queue.
  for (const { spec, replica, started, admittedForMs } of inFlight.values()) {
    const known = state.turns.get(spec.turn);
    if (known !== undefined && known.proxy !== proxy) continue;
    const turn =
      known ?? restoreInFlight(state, effects, proxy, spec, obtainReplica(state, replica), admittedForMs);
    if (turn === null) continue;
    turn.started ||= started;
    heardOfTurn(state, turn);
  }
  for (const entry of event.runs) {
    const run = restoreRun(state, effects, entry, outdated);
    if (run !== null) rerouteRun(state, run);
  }
  for (const { spec, heldForMs } of event.held) {
    if (state.turns.has(spec.turn)) continue;
    if (knowledgeOf(state, spec.model, spec.api) === 'unknown') {
      reject(effects, proxy, spec.turn, 'unknown_model');
    } else holdTurn(state, effects, proxy, spec, heldForMs);
  }
}

/** What is told from now on is told to this scheduler for the first time. */
export function tookOver(
  state: SchedulerState,
  { proxies }: Extract<SchedulerEvent, { type: 'tookOver' }>,
): void {
  state.firstResyncAtMs = null;
  state.expectedProxies = proxies;
}

/** Held turns go at once with the clients behind them; those in flight wait for a resync. */
export function proxyLost(state: SchedulerState, event: EventOf<'proxyLost'>, effects: Effect[]): void {
  const proxy = state.proxies.get(event.proxy);
  if (proxy === undefined || proxy.lostAtMs !== null) return;
  proxy.lostAtMs = state.nowMs;
  for (const turn of proxy.turns) if (turn.replica === null) abandonHeld(state, turn, effects);
  if (proxy.turns.size === 0) state.proxies.delete(proxy.id);
}

/** Frees the places of proxies that were lost and did not come back in time. */
export function sweepLostProxies(state: SchedulerState, effects: Effect[]): void {
  for (const proxy of state.proxies.values()) {
    if (proxy.lostAtMs === null || state.nowMs - proxy.lostAtMs < lostProxyMs) continue;
    for (const turn of proxy.turns) {
      rememberLoss(state, turn);
      releaseTurn(state, turn, { outcome: 'failed' });
      record(effects, { metric: 'dropped', reason: 'proxy_lost' });
    }
    state.proxies.delete(proxy.id);
  }
}

/**
 * Turns in flight or live runs can only come from before a restart: the other proxies must be heard as
 * well. Held turns alone may just have come before the link did, and wait for nobody. Where it is known how many
 * proxies there were, as many are waited for and no more.
 */
function awaitOthers(state: SchedulerState, event: EventOf<'proxyResynced'>): void {
  state.firstResyncAtMs ??= state.nowMs;
  const settledAtMs = state.firstResyncAtMs + resyncGraceMs;
  if (state.nowMs >= settledAtMs) return;
  if (state.expectedProxies !== null) {
    const complete = linkedProxies(state) >= state.expectedProxies;
    state.settledAtMs = complete ? state.nowMs : settledAtMs;
    return;
  }
  if (event.inFlight.length + event.runs.length > 0) state.settledAtMs = settledAtMs;
}

function linkedProxies(state: SchedulerState): number {
  let linked = 0;
  for (const proxy of state.proxies.values()) if (proxy.lostAtMs === null) linked += 1;
  return linked;
}

function obtainProxy(state: SchedulerState, id: Proxy['id']): Proxy {
  const known = state.proxies.get(id);
  if (known !== undefined) return known;
  const proxy: Proxy = { id, turns: new Set(), lostAtMs: null };
  state.proxies.set(id, proxy);
  return proxy;
}

/**
 * What the proxy had and does not name now ended while the link was down; an admission that it does not
 * know of never reached it. Returns the runs of which it knows better.
 */
function dropUnnamed(
  state: SchedulerState,
  proxy: Proxy,
  effects: Effect[],
  inFlight: ReadonlyMap<TurnId, { readonly replica: string }>,
  held: ReadonlySet<TurnId>,
): ReadonlySet<Run> {
  const outdated = new Set<Run>();
  for (const turn of proxy.turns) {
    const id = turn.spec.turn;
    if (turn.replica === null) {
      if (held.has(id)) continue;
      dropHeldTurn(state, turn);
    } else if (inFlight.get(id)?.replica !== turn.replica.id) {
      releaseTurn(state, turn, { outcome: 'failed' });
      record(effects, { metric: 'dropped', reason: 'not_resynced' });
    } else continue;
    if (turn.run !== null) outdated.add(turn.run);
  }
  return outdated;
}
