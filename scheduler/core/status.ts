/** The state as `GET /status` and `GET /debug/state` show it. Reads only; costs O(n) of what is live. */
import type { SchedulerStatus } from '../../contracts/scheduler-status.ts';
import { admissionRule } from './admission.ts';
import { refusalOfFirst } from './precedence.ts';
import { apisOf } from './routes.ts';
import { phaseOf } from './runs.ts';
import type { Replica, Run, SchedulerState, Turn } from './state.ts';

const maxRunsListed = 500;

export function describeStatus(state: SchedulerState): SchedulerStatus {
  const runsByPhase: Record<string, number> = { held: 0, generating: 0, paused: 0, idle: 0 };
  for (const run of state.runs.values()) {
    const phase = phaseOf(run);
    runsByPhase[phase] = (runsByPhase[phase] ?? 0) + 1;
  }
  return {
    replicas: [...state.replicas.values()].map((replica) => describeReplica(state, replica)),
    held: describeHeld(state),
    runsByPhase,
    runs: mostRecent(state).map((run) => ({
      run: run.id,
      caller: run.caller,
      class: run.class,
      phase: phaseOf(run),
      replica: run.lastReplica,
      turns: run.turns,
      pauses: run.pauses,
      replicas: [...run.replicas],
    })),
    proxies: [...state.proxies.values()].filter((proxy) => proxy.lostAtMs === null).length,
    policy: state.policy,
  };
}

function describeReplica(state: SchedulerState, replica: Replica): SchedulerStatus['replicas'][number] {
  const limit = admissionRule(state.policy).limit(replica);
  return {
    id: replica.id,
    url: replica.config.url,
    engine: replica.config.engine,
    kind: replica.config.kind,
    models: [...(replica.models ?? [])],
    apis: [...apisOf(replica)],
    healthy: replica.member ? replica.healthy : false,
    running: replica.load?.running ?? null,
    waiting: replica.load?.waiting ?? null,
    limit: Number.isFinite(limit) ? limit : null,
    inFlight: replica.inFlight,
    pausedInteractive: replica.pausedInteractive,
    residency: describeResidency(replica),
    refuses: refusalOfFirst(state, replica),
  };
}

function describeResidency({ ledger, capacity }: Replica): SchedulerStatus['replicas'][number]['residency'] {
  return {
    residents: ledger.contexts,
    tokens: Math.round(ledger.tokens),
    capacityTokens: Number.isFinite(capacity.tokens) ? Math.round(capacity.tokens) : null,
    capacityReason: capacity.reason,
    reportedTokens: capacity.reportedTokens,
    slots: capacity.reportedContexts,
    capacityContexts: Number.isFinite(capacity.contexts) ? Math.floor(capacity.contexts) : null,
    hits: capacity.hits,
    misses: capacity.misses,
  };
}

function describeHeld(state: SchedulerState): SchedulerStatus['held'] {
  const groups = new Map<string, SchedulerStatus['held'][number]>();
  for (const turn of state.turns.values()) {
    if (turn.replica !== null) continue;
    const key = `${turn.spec.class} ${turn.spec.caller}`;
    const heldMs = Math.round(state.nowMs - turn.heldSinceMs);
    const group = groups.get(key) ?? {
      class: turn.spec.class,
      caller: turn.spec.caller,
      turns: 0,
      oldestMs: 0,
    };
    group.turns += 1;
    group.oldestMs = Math.max(group.oldestMs, heldMs);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function mostRecent(state: SchedulerState): Run[] {
  const runs = [...state.runs.values()];
  runs.sort((a, b) => b.activeAtMs - a.activeAtMs);
  return runs.slice(0, maxRunsListed);
}

/** All live turns and runs as plain data, for a person who debugs; at most `limit` of each. */
export function describeState(state: SchedulerState, limit: number): Record<string, unknown> {
  return {
    nowMs: state.nowMs,
    heldTurns: state.heldTurns,
    counts: {
      turns: state.turns.size,
      runs: state.runs.size,
      callers: state.callers.size,
      losses: state.losses.size,
    },
    replicas: [...state.replicas.values()].map((replica) => ({
      ...describeReplica(state, replica),
      member: replica.member,
      paused: replica.paused,
      batchCredit: replica.batchCredit,
      load: replica.load,
      probesWithoutLoad: replica.probesWithoutLoad,
    })),
    routes: [...state.routes.values()].map((route) => ({
      key: route.key,
      replicas: route.replicas.map((replica) => replica.id),
      lanes: route.lanes.map((lane) =>
        [...lane.queues.values()].map((queue) => ({ caller: queue.caller.id, strands: queue.strands.size })),
      ),
    })),
    proxies: [...state.proxies.values()].map((proxy) => ({
      id: proxy.id,
      turns: proxy.turns.size,
      lostAtMs: proxy.lostAtMs,
    })),
    callers: first(state.callers.values(), limit).map((caller) => ({
      id: caller.id,
      weight: caller.weight,
      inFlight: caller.inFlight,
      heldTurns: caller.heldTurns,
      servedTokens: caller.servedTokens,
    })),
    turns: first(state.turns.values(), limit).map((turn) => describeTurn(turn)),
    runs: first(state.runs.values(), limit).map((run) => ({
      run: run.id,
      phase: phaseOf(run),
      resident: run.resident,
      residences: run.residences.map(({ replica, tokens }) => ({ replica: replica.id, tokens })),
      homes: Object.fromEntries(run.homes.map(({ model, replica }) => [model, replica])),
      activeAtMs: run.activeAtMs,
      heldTurns: run.heldTurns,
      inFlight: run.inFlight.length,
    })),
  };
}

function describeTurn(turn: Turn): Record<string, unknown> {
  const { prefix, ...spec } = turn.spec;
  return {
    ...spec,
    prefixBlocks: prefix.length,
    proxy: turn.proxy.id,
    replica: turn.replica?.id ?? null,
    started: turn.started,
    countsAs: turn.countsAs,
    route: turn.strand?.queue?.lane.route.key ?? null,
    arrivedAtMs: turn.arrivedAtMs,
    heldSinceMs: turn.heldSinceMs,
    heardAtMs: turn.heardAtMs,
  };
}

function first<T>(values: Iterable<T>, limit: number): T[] {
  const taken: T[] = [];
  for (const value of values) {
    if (taken.length >= limit) break;
    taken.push(value);
  }
  return taken;
}
