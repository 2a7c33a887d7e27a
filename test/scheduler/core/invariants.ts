/**
 * What must hold after every step, counted anew from the turns and runs themselves. Returns what is
 * broken, in words; nothing when all is well.
 */
import { mayTake, mustWaitFor } from '../../../scheduler/core/precedence.ts';
import { firstOf } from '../../../scheduler/core/queue.ts';
import { laneRank, turnBefore } from '../../../scheduler/core/order.ts';
import { keepsRunState } from '../../../contracts/config-file.ts';
import { homeOf, pinOf, serves } from '../../../scheduler/core/routes.ts';
import { prefixBlockTokens } from '../../../scheduler/core/limits.ts';
import type { Context } from '../../../scheduler/core/ledger.ts';
import type { Lane, Replica, Run, SchedulerState, Turn } from '../../../scheduler/core/state.ts';

export function brokenInvariants(state: SchedulerState): string[] {
  const broken: string[] = [];
  const expectEqual = (what: string, actual: unknown, expected: unknown): void => {
    if (actual !== expected) broken.push(`${what} is ${String(actual)}, counted ${String(expected)}`);
  };
  const turns = [...state.turns.values()];
  const held = turns.filter((turn) => turn.replica === null);
  const inFlight = turns.filter((turn) => turn.replica !== null);

  expectEqual('heldTurns', state.heldTurns, held.length);
  expectEqual('silences', state.silences.size, inFlight.length);
  expectEqual('ageing', state.ageing.size, held.filter((turn) => turn.countsAs === 'batch').length);
  for (const replica of state.replicas.values()) {
    expectEqual(
      `${replica.id}.inFlight`,
      replica.inFlight,
      count(inFlight, (turn) => turn.replica === replica),
    );
    const paused = [...state.runs.values()].filter((run) => run.reservedOn === replica);
    expectEqual(`${replica.id}.paused`, replica.paused, paused.length);
    expectEqual(
      `${replica.id}.pausedInteractive`,
      replica.pausedInteractive,
      count(paused, (run) => run.class === 'interactive'),
    );
    if (!replica.member && replica.inFlight === 0) broken.push(`${replica.id} left and is still kept`);
    if (replica.batchCredit < 0 || replica.batchCredit > 1) broken.push(`credit ${replica.batchCredit}`);
  }
  for (const caller of state.callers.values()) {
    expectEqual(
      `${caller.id}.inFlight`,
      caller.inFlight,
      count(inFlight, (turn) => turn.caller === caller),
    );
    expectEqual(
      `${caller.id}.heldTurns`,
      caller.heldTurns,
      count(held, (turn) => turn.caller === caller),
    );
    if (caller.inFlight + caller.heldTurns === 0) broken.push(`caller ${caller.id} is kept for nothing`);
  }
  for (const proxy of state.proxies.values()) {
    expectEqual(
      `${proxy.id}.turns`,
      proxy.turns.size,
      count(turns, (turn) => turn.proxy === proxy),
    );
    if (proxy.lostAtMs !== null && count(held, (turn) => turn.proxy === proxy) > 0) {
      broken.push(`lost proxy ${proxy.id} still holds turns`);
    }
  }
  for (const run of state.runs.values()) {
    const own = turns.filter((turn) => turn.run === run);
    expectEqual(
      `${run.id}.inFlight`,
      run.inFlight.length,
      count(own, (turn) => turn.replica !== null),
    );
    expectEqual(
      `${run.id}.heldTurns`,
      run.heldTurns,
      count(own, (turn) => turn.replica === null),
    );
    expectEqual(`${run.id} rests`, run.resting !== null, own.length === 0);
    expectEqual(`${run.id} is reserved`, run.reservation !== null, run.reservedOn !== null);
    if (run.reservation !== null && (own.length > 0 || run.rest !== 'paused')) {
      broken.push(`${run.id} keeps a reservation and does not pause`);
    }
  }
  expectEqual(
    'resting',
    state.resting.size,
    count([...state.runs.values()], (run) => run.resting !== null),
  );
  broken.push(...misplaced(state, held));
  broken.push(...misjudgedCallers(state));
  broken.push(...miscounted(state, inFlight));
  if (state.nowMs >= state.settledAtMs) broken.push(...idleThoughWanted(state, held));
  return broken;
}

function misjudgedCallers(state: SchedulerState): string[] {
  const broken: string[] = [];
  const waiting = count([...state.callers.values()], (caller) => caller.heldTurns > 0);
  if (state.waitingCallers.size !== waiting)
    broken.push(`${state.waitingCallers.size} callers wait, ${waiting} do`);
  for (const caller of state.callers.values()) {
    const share = state.policy.fairness === 'tokens' ? caller.servedTokens : caller.inFlight / caller.weight;
    if (caller.share !== share) broken.push(`share of ${caller.id} is ${caller.share}, not ${share}`);
    if (caller.servedTokens < -1e-6) broken.push(`${caller.id} has been served ${caller.servedTokens}`);
  }
  return broken;
}

/** The ledgers, added up anew: where each run is resident, and what the contexts of a replica come to. */
function miscounted(state: SchedulerState, inFlight: readonly Turn[]): string[] {
  const broken: string[] = [];
  const runs = new Set<Run>(state.runs.values());
  for (const { run } of inFlight) if (run !== null) runs.add(run);
  const contexts = new Map<Replica, Context[]>();
  for (const run of runs) {
    const expected = new Map<Replica, number>();
    const weigh = (replica: Replica, tokens: number): void => {
      expected.set(replica, Math.max(tokens, expected.get(replica) ?? 0));
    };
    for (const turn of run.inFlight) if (turn.replica !== null) weigh(turn.replica, turn.footprintTokens);
    const paused = run.inFlight.length > 0 || run.resident;
    if (paused && run.pausingOn !== null) weigh(run.pausingOn, run.pausedContext?.tokens ?? 0);
    for (const { replica, tokens, prefix } of run.residences) {
      const context = { tokens, prefix };
      contexts.set(replica, [...(contexts.get(replica) ?? []), context]);
      if (expected.get(replica) !== context.tokens) {
        broken.push(`${run.id} weighs ${context.tokens} on ${replica.id}, not ${expected.get(replica)}`);
      }
    }
    if (run.residences.length !== expected.size) broken.push(`${run.id} is resident in other places`);
    if (run.resident && run.pausingOn === null) broken.push(`${run.id} is resident nowhere`);
  }
  for (const replica of state.replicas.values()) {
    const own = contexts.get(replica) ?? [];
    const { ledger, capacity, id } = replica;
    if (ledger.contexts !== own.length)
      broken.push(`${id} counts ${ledger.contexts} contexts, not ${own.length}`);
    if (ledger.tokens !== tokensOf(own))
      broken.push(`${id} counts ${ledger.tokens} tokens, not ${tokensOf(own)}`);
    if (!(capacity.tokens > 0)) broken.push(`${id} has a capacity of ${capacity.tokens}`);
  }
  return broken;
}

/** Each shared block once; found by comparing every block with all that came before. */
function tokensOf(contexts: readonly Context[]): number {
  const seen = new Set<string>();
  let tokens = 0;
  for (const context of contexts) {
    tokens += context.tokens;
    const whole = Math.min(context.prefix.length, Math.floor(context.tokens / prefixBlockTokens));
    for (const block of context.prefix.slice(0, whole)) {
      if (seen.has(block)) tokens -= prefixBlockTokens;
      seen.add(block);
    }
  }
  return tokens;
}

/** Every held turn stands in exactly the lane that its run, class and model call for, in order. */
function misplaced(state: SchedulerState, held: readonly Turn[]): string[] {
  const broken: string[] = [];
  let queued = 0;
  for (const route of state.routes.values()) {
    for (const lane of route.lanes) {
      queued += lane.queues.size === 0 ? 0 : turnsOf(lane).length;
      const first = lane.queues.first?.strands.first?.turns.first;
      const expected = turnsOf(lane).toSorted(inLaneOrder)[0];
      if (first !== expected) broken.push(`${route.key} lane ${lane.rank} starts with the wrong turn`);
    }
  }
  if (queued !== held.length) broken.push(`${queued} turns stand in lanes, ${held.length} are held`);
  for (const turn of held) {
    const { run, spec } = turn;
    const pin = run === null ? null : pinOf(state, run, spec.model, spec.api);
    const keeper = keeperOf(state, turn);
    const wanted = keeper === null || keeper === pin ? pin : null;
    const lane = turn.strand?.queue?.lane;
    const rank = laneRank(turn.countsAs, run !== null && run.lastReplica !== null);
    if (lane?.route.pinnedTo !== wanted && (lane?.route.pinnedTo ?? null) !== wanted) {
      broken.push(`${spec.turn} stands on ${lane?.route.key ?? 'no route'}, its pin is ${pin?.id ?? 'none'}`);
    }
    if (wanted === null && (lane?.route.keptBy ?? null) !== keeper) {
      broken.push(
        `${spec.turn} stands on ${lane?.route.key ?? 'no route'}, its keeper is ${keeper?.id ?? 'none'}`,
      );
    }
    if (lane?.rank !== rank) broken.push(`${spec.turn} stands in lane ${String(lane?.rank)}, not ${rank}`);
    if (run === null && keepsRunState(spec.api)) broken.push(`${spec.turn} has no run`);
  }
  return broken;
}

/**
 * No held turn while a replica that it may go to is empty, and no first turn of a route while one has room for
 * it that it need not leave to another. Under `engine-load` all turns need the same room: none may be held.
 */
function idleThoughWanted(state: SchedulerState, held: readonly Turn[]): string[] {
  const broken: string[] = [];
  for (const turn of held) {
    for (const replica of eligible(state, turn)) {
      if (!replica.member || replica.healthy !== true) continue;
      if (replica.inFlight === 0 && replica.ledger.contexts === 0 && turn.run !== null) {
        broken.push(`${turn.spec.turn} is held while ${replica.id} is empty`);
      }
      if (state.policy.admission === 'engine-load' && mayTake(state, turn, replica)) {
        broken.push(`${turn.spec.turn} is held while ${replica.id} has room for it`);
      }
    }
  }
  for (const route of state.routes.values()) {
    const first = firstOf(route);
    if (first === undefined) continue;
    for (const replica of route.replicas) {
      if (!mayTake(state, first.turn, replica) || mustWaitFor(state, first, replica)) continue;
      broken.push(`${first.turn.spec.turn} is first and held while ${replica.id} has room for it`);
    }
  }
  return broken;
}

export function eligible(state: SchedulerState, turn: Turn): Replica[] {
  const { run, spec } = turn;
  const pin = keeperOf(state, turn) ?? (run === null ? null : pinOf(state, run, spec.model, spec.api));
  if (pin !== null) return [pin];
  return [...state.replicas.values()].filter((replica) => serves(replica, spec.model, spec.api));
}

/** The replica that stores what a turn goes on from, while it can serve it. */
function keeperOf(state: SchedulerState, { run, spec }: Turn): Replica | null {
  if (spec.stored === undefined || run === null) return null;
  const id = spec.stored.replica ?? homeOf(run, spec.model);
  const keeper = [...state.replicas.values()].find((replica) => replica.id === id);
  return keeper?.healthy !== false && keeper !== undefined && serves(keeper, spec.model, spec.api)
    ? keeper
    : null;
}

function turnsOf(lane: Lane): Turn[] {
  return [...lane.queues.values()].flatMap((queue) =>
    [...queue.strands.values()].flatMap((strand) => [...strand.turns.values()]),
  );
}

function inLaneOrder(a: Turn, b: Turn): number {
  const share = a.caller.share - b.caller.share;
  if (share !== 0) return share;
  return turnBefore(a, b) ? -1 : 1;
}

function count<T>(values: readonly T[], holds: (value: T) => boolean): number {
  return values.filter((value) => holds(value)).length;
}
