/**
 * What the reports of proxies about single turns and runs do. Reports may be late, doubled or about turns
 * that are gone: each is checked against what the proxy has, and otherwise ignored and counted.
 */
import type { TurnId } from '../../contracts/ids.ts';
import { judgeCache } from './cache-verdict.ts';
import type { Effect, ProxyEvent } from './events.ts';
import { noteFirstByte } from './latency-limit.ts';
import { rememberLoss } from './losses.ts';
import { generates, knowledgeOf } from './routes.ts';
import { endRun } from './runs.ts';
import type { Proxy, Replica, SchedulerState, Turn } from './state.ts';
import { dropHeldTurn, heardOfTurn, holdTurn, record, reject, releaseTurn } from './turns.ts';

type EventOf<Type extends ProxyEvent['type']> = Extract<ProxyEvent, { type: Type }>;

/** A turn is held until it is admitted or its client leaves; a model nobody serves is refused at once. */
export function turnArrived(state: SchedulerState, event: EventOf<'turnArrived'>, effects: Effect[]): void {
  const proxy = connectedProxy(state, event.proxy);
  if (proxy === undefined || state.turns.has(event.spec.turn)) {
    record(effects, { metric: 'ignored', event: event.type });
    return;
  }
  if (knowledgeOf(state, event.spec.model, event.spec.api) === 'unknown') {
    reject(effects, proxy, event.spec.turn, 'unknown_model');
    return;
  }
  holdTurn(state, effects, proxy, event.spec, event.heldForMs);
}

/** The client left. An admission that crossed this report on the link reaches nobody, so its place is free. */
export function turnAbandoned(
  state: SchedulerState,
  event: EventOf<'turnAbandoned'>,
  effects: Effect[],
): void {
  const turn = turnOf(state, event, effects);
  if (turn === undefined) return;
  if (turn.replica !== null) {
    rememberLoss(state, turn);
    releaseTurn(state, turn, { outcome: 'failed' });
    record(effects, { metric: 'finished', class: turn.spec.class, outcome: 'failed' });
    return;
  }
  abandonHeld(state, turn, effects);
}

export function turnStarted(state: SchedulerState, event: EventOf<'turnStarted'>, effects: Effect[]): void {
  const turn = turnOf(state, event, effects);
  if (turn === undefined) return;
  if (turn.replica === null) {
    record(effects, { metric: 'ignored', event: event.type });
    return;
  }
  if (!turn.started) firstByteCame(state, turn, turn.replica);
  turn.started = true;
  heardOfTurn(state, turn);
}

function firstByteCame(state: SchedulerState, { admittedAtMs, run }: Turn, replica: Replica): void {
  const { nowMs } = state;
  if (replica.config.limit !== 'latency') return;
  // Beside the first byte of an embedding every generated one looks slow.
  if (run === null && generates(replica)) return;
  if (noteFirstByte(replica.latency, { admittedAtMs, nowMs, inFlight: replica.inFlight })) {
    state.freed.add(replica);
  }
}

export function turnsProgressed(state: SchedulerState, event: EventOf<'turnsProgressed'>): void {
  for (const id of event.turns) {
    const turn = state.turns.get(id);
    if (turn?.proxy.id === event.proxy && turn.replica !== null) heardOfTurn(state, turn);
  }
}

export function turnFinished(state: SchedulerState, event: EventOf<'turnFinished'>, effects: Effect[]): void {
  const turn = turnOf(state, event, effects);
  if (turn === undefined) return;
  if (turn.replica === null) {
    abandonHeld(state, turn, effects);
    return;
  }
  if (event.outcome === 'failed' || event.outcome === 'refused') rememberLoss(state, turn);
  judgeCache(state, effects, turn, event);
  releaseTurn(state, turn, event);
  record(effects, { metric: 'finished', class: turn.spec.class, outcome: event.outcome });
}

/** Held turns of the run are refused, those in flight aborted; both at the proxy that has the turn. */
export function runEnded(state: SchedulerState, event: EventOf<'runEnded'>, effects: Effect[]): void {
  const run = state.runs.get(event.run);
  if (run === undefined) return;
  const held = [...(run.strands?.values() ?? [])].flatMap((strand) => [...strand.turns.values()]);
  endRun(state, run);
  for (const turn of held.toSorted((a, b) => a.sequence - b.sequence)) {
    dropHeldTurn(state, turn);
    reject(effects, turn.proxy, turn.spec.turn, 'run_ended');
  }
  for (const turn of run.inFlight) {
    effects.push({ type: 'abort', proxy: turn.proxy.id, turn: turn.spec.turn });
  }
}

/** A held turn left with its client; it keeps its arrival time should it come back. */
export function abandonHeld(state: SchedulerState, turn: Turn, effects: Effect[]): void {
  dropHeldTurn(state, turn);
  rememberLoss(state, turn);
  record(effects, {
    metric: 'abandoned',
    class: turn.spec.class,
    holdMs: state.nowMs - turn.heldSinceMs,
  });
}

/** Refuses what was held because nobody could tell yet whether its model is served, once that is told. */
export function rejectUnknown(state: SchedulerState, effects: Effect[]): void {
  const lost: Turn[] = [];
  for (const route of state.routes.values()) {
    if (route.pinnedTo !== null || route.replicas.length > 0 || route.api === null) continue;
    if (knowledgeOf(state, route.model, route.api) !== 'unknown') continue;
    for (const lane of route.lanes) {
      for (const queue of lane.queues.values()) {
        for (const strand of queue.strands.values()) lost.push(...strand.turns.values());
      }
    }
  }
  for (const turn of lost.toSorted((a, b) => a.sequence - b.sequence)) {
    dropHeldTurn(state, turn);
    reject(effects, turn.proxy, turn.spec.turn, 'unknown_model');
  }
}

export function connectedProxy(state: SchedulerState, id: Proxy['id']): Proxy | undefined {
  const proxy = state.proxies.get(id);
  return proxy?.lostAtMs === null ? proxy : undefined;
}

function turnOf(
  state: SchedulerState,
  event: { readonly type: ProxyEvent['type']; readonly proxy: Proxy['id']; readonly turn: TurnId },
  effects: Effect[],
): Turn | undefined {
  const turn = state.turns.get(event.turn);
  if (turn !== undefined && turn.proxy.id === event.proxy) return turn;
  record(effects, { metric: 'ignored', event: event.type });
  return undefined;
}
