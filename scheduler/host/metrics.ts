/** The scheduler's Prometheus metrics, in a registry of its own. Labels are bounded: no run, no turn. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Recorded } from '../core/events.ts';
import { Backlog } from './backlog.ts';
import { refusalOfFirst } from '../core/precedence.ts';
import type { CallerState, SchedulerState } from '../core/state.ts';

const maxCallersShown = 20;
const holdBucketsSeconds = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800];
const stepBucketsSeconds = [0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.005, 0.02, 0.1];

export interface SchedulerMetrics {
  readonly registry: Registry;
  record(entry: Recorded): void;
  stepped(event: string, tookMs: number): void;
  probed(replica: string, healthy: boolean, tookMs: number): void;
}

export interface HostFacts {
  /** Whether the configuration file as it is now cannot be used. */
  readonly configFaulty: () => boolean;
  /** Whether this scheduler decides, as against: stands by. */
  readonly active: () => boolean;
  /** Failed reads and writes of the lease so far. */
  readonly leaseFaults: () => number;
}

const alwaysActive: HostFacts = { configFaulty: () => false, active: () => true, leaseFaults: () => 0 };

export function createMetrics(state: SchedulerState, facts: HostFacts = alwaysActive): SchedulerMetrics {
  const registry = new Registry();
  const registers = [registry];
  const probes = new Counter({
    name: 'fermata_scheduler_probes_total',
    help: 'Probes by replica and result.',
    labelNames: ['replica', 'result'] as const,
    registers,
  });
  const probeSeconds = new Gauge({
    name: 'fermata_scheduler_probe_seconds',
    help: 'Duration of the last probe.',
    labelNames: ['replica'] as const,
    registers,
  });
  addGauges(state, registers, facts);
  // Counted once nothing else is at hand, or by the next scrape: the turn that was decided on goes first.
  const backlog = new Backlog();
  const { count, stepped } = addTurnCounters({ registers, collect: () => backlog.flush() });
  return {
    registry,
    record: (entry) => backlog.add(() => count(entry)),
    stepped: (event, tookMs) => backlog.add(() => stepped(event, tookMs)),
    probed(replica, healthy, tookMs) {
      probes.inc({ replica, result: healthy ? 'healthy' : 'unhealthy' });
      probeSeconds.set({ replica }, tookMs / 1_000);
    },
  };
}

/** Where a metric stands, and what brings it up to date when it is read. */
interface Upkeep {
  readonly registers: Registry[];
  readonly collect: () => void;
}

interface TurnCounters {
  readonly count: (entry: Recorded) => void;
  readonly stepped: (event: string, tookMs: number) => void;
}

function addTurnCounters(upkeep: Upkeep): TurnCounters {
  const decisions = new Counter({
    name: 'fermata_scheduler_decisions_total',
    help: 'Decisions and ends of turns by outcome.',
    labelNames: ['outcome', 'class'] as const,
    ...upkeep,
  });
  const holds = new Histogram({
    name: 'fermata_scheduler_hold_seconds',
    help: 'Time from arrival to admission, by class and by whether the turn resumed a run.',
    labelNames: ['class', 'resumed'] as const,
    buckets: holdBucketsSeconds,
    ...upkeep,
  });
  const admissions = new Counter({
    name: 'fermata_scheduler_admissions_total',
    help: 'Admitted turns by replica.',
    labelNames: ['replica'] as const,
    ...upkeep,
  });
  const steps = new Histogram({
    name: 'fermata_scheduler_step_seconds',
    help: 'Time to apply one event and deliver its effects.',
    labelNames: ['event'] as const,
    buckets: stepBucketsSeconds,
    ...upkeep,
  });
  const noteCapacity = addCapacityCounters(upkeep);
  return {
    count(entry) {
      if (entry.metric === 'admitted') {
        holds.observe({ class: entry.class, resumed: String(entry.resumed) }, entry.holdMs / 1_000);
        admissions.inc({ replica: entry.replica });
      }
      if (entry.metric === 'resumed_context' || entry.metric === 'capacity_changed') noteCapacity(entry);
      else decisions.inc(decisionLabels(entry));
    },
    stepped: (event, tookMs) => steps.observe({ event }, tookMs / 1_000),
  };
}

type AboutCapacity = Extract<Recorded, { metric: 'resumed_context' | 'capacity_changed' }>;
type Decision = Exclude<Recorded, AboutCapacity>;

/** What resumed turns found in the cache, and what changed the capacity because of it. */
function addCapacityCounters(upkeep: Upkeep): (entry: AboutCapacity) => void {
  const resumed = new Counter({
    name: 'fermata_scheduler_resumed_contexts_total',
    help: 'Resumed turns of resident runs by whether their context was still in the cache.',
    labelNames: ['replica', 'result'] as const,
    ...upkeep,
  });
  const capacityChanges = new Counter({
    name: 'fermata_scheduler_capacity_changes_total',
    help: 'Changes of the capacity of a replica by reason.',
    labelNames: ['replica', 'reason'] as const,
    ...upkeep,
  });
  return (entry) => {
    const { replica } = entry;
    if (entry.metric === 'resumed_context') resumed.inc({ replica, result: entry.found ? 'hit' : 'miss' });
    else capacityChanges.inc({ replica, reason: entry.reason });
  };
}

function decisionLabels(entry: Decision): { outcome: string; class: string } {
  switch (entry.metric) {
    case 'admitted':
    case 'abandoned':
      return { outcome: entry.metric, class: entry.class };
    case 'finished':
      return { outcome: `finished_${entry.outcome}`, class: entry.class };
    case 'rejected':
      return { outcome: `rejected_${entry.code}`, class: '' };
    case 'dropped':
      return { outcome: `dropped_${entry.reason}`, class: '' };
    case 'run_forgotten':
      return { outcome: `run_forgotten_${entry.reason}`, class: '' };
    case 'ignored':
      return { outcome: `ignored_${entry.event}`, class: '' };
  }
}

/** Gauges read the state when they are scraped, so they are never behind it. */
function addGauges(state: SchedulerState, registers: Registry[], facts: HostFacts): void {
  const gauge: AddGauge = (name, help, labelNames, set) => {
    const own: Gauge = new Gauge({
      name: `fermata_scheduler_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        own.reset();
        set(own);
      },
    });
  };
  const fault = '1 while the configuration file cannot be used and the one from before stays in force.';
  gauge('config_fault', fault, [], (own) => own.set(facts.configFaulty() ? 1 : 0));
  gauge('active', '1 while this scheduler decides, 0 while it stands by.', [], (own) =>
    own.set(facts.active() ? 1 : 0),
  );
  gauge('lease_faults', 'Failed reads and writes of the lease since the start.', [], (own) =>
    own.set(facts.leaseFaults()),
  );
  gauge('held_turns', 'Turns that wait for admission.', [], (own) => own.set(state.heldTurns));
  gauge('runs', 'Live runs.', [], (own) => own.set(state.runs.size));
  gauge('links', 'Connected proxies.', [], (own) => {
    own.set([...state.proxies.values()].filter((proxy) => proxy.lostAtMs === null).length);
  });
  gauge('in_flight_turns', 'Turns in flight by replica.', ['replica'], (own) => {
    for (const replica of state.replicas.values()) own.set({ replica: replica.id }, replica.inFlight);
  });
  gauge('replica_healthy', '1 when the last probe found the replica healthy.', ['replica'], (own) => {
    for (const replica of state.replicas.values()) {
      own.set({ replica: replica.id }, replica.member && replica.healthy === true ? 1 : 0);
    }
  });
  gauge('paused_interactive_runs', 'Paused interactive runs by replica.', ['replica'], (own) => {
    for (const replica of state.replicas.values())
      own.set({ replica: replica.id }, replica.pausedInteractive);
  });
  gauge(
    'refusing',
    '1 when turns wait for room on a replica, by what is lacking.',
    ['replica', 'reason'],
    (own) => {
      for (const replica of state.replicas.values()) {
        const reason = refusalOfFirst(state, replica);
        if (reason !== null) own.set({ replica: replica.id, reason }, 1);
      }
    },
  );
  addResidencyGauges(state, gauge);
  gauge('caller_turns', 'Turns of the busiest callers.', ['caller', 'state'], (own) => {
    for (const caller of busiest(state)) {
      own.set({ caller: caller.id, state: 'held' }, caller.heldTurns);
      own.set({ caller: caller.id, state: 'in_flight' }, caller.inFlight);
    }
  });
}

/** Name without its beginning, help, labels, and what is set at each scrape. */
type AddGauge = (name: string, help: string, labelNames: string[], set: (own: Gauge) => void) => void;

function addResidencyGauges(state: SchedulerState, gauge: AddGauge): void {
  gauge('residents', 'Live contexts counted on a replica.', ['replica'], (own) => {
    for (const replica of state.replicas.values()) own.set({ replica: replica.id }, replica.ledger.contexts);
  });
  gauge('residency_tokens', 'Tokens of the live contexts on a replica.', ['replica'], (own) => {
    for (const replica of state.replicas.values()) own.set({ replica: replica.id }, replica.ledger.tokens);
  });
  const help = 'Tokens of live contexts that a replica may have, by what set it; absent: not limited.';
  gauge('capacity_tokens', help, ['replica', 'reason'], (own) => {
    for (const { id, capacity } of state.replicas.values()) {
      if (Number.isFinite(capacity.tokens))
        own.set({ replica: id, reason: capacity.reason }, capacity.tokens);
    }
  });
  const contextsHelp = 'Contexts that a replica with slots may have; absent: not limited by slots.';
  gauge('capacity_contexts', contextsHelp, ['replica'], (own) => {
    for (const { id, capacity } of state.replicas.values()) {
      if (Number.isFinite(capacity.contexts)) own.set({ replica: id }, Math.floor(capacity.contexts));
    }
  });
}

function busiest(state: SchedulerState): CallerState[] {
  const turns = (caller: CallerState): number => caller.heldTurns + caller.inFlight;
  return [...state.callers.values()].toSorted((a, b) => turns(b) - turns(a)).slice(0, maxCallersShown);
}
