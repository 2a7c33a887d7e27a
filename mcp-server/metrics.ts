/** Prometheus metrics of this service, in a registry of its own so that several can live in one process. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export type CallOutcome = 'ok' | 'fault' | 'gone' | 'error';

/** Told of every tool call, at its start and at its end. */
export interface CallMeter {
  callStarted(tool: string): void;
  /** `fault`: the user's; `gone`: the client broke off; `error`: ours. */
  callEnded(tool: string, outcome: CallOutcome, seconds: number): void;
}

export interface McpMetrics extends CallMeter {
  readonly registry: Registry;
  /** A request of the run API has been answered; a stream of events has ended. */
  apiAnswered(route: string, status: number, seconds: number): void;
}

/** For a server whose metrics nobody can read. */
export const noMeter: CallMeter = { callStarted: () => undefined, callEnded: () => undefined };

export interface MetricSources {
  sessions(): number;
  watchedRuns(): number;
  /** Of events of the run API. */
  listeners(): number;
  /** Runs by status; null: not known now. */
  runCounts(): Promise<Readonly<Record<string, number>> | null>;
}

export function createMetrics(sources: MetricSources): McpMetrics {
  const registry = new Registry();
  const registers = [registry];
  const calls = new Counter({
    name: 'fermata_mcp_tool_calls_total',
    help: 'Tool calls that have ended, by tool and outcome',
    labelNames: ['tool', 'outcome'],
    registers,
  });
  const active = new Gauge({
    name: 'fermata_mcp_tool_calls_active',
    help: 'Tool calls in progress, by tool',
    labelNames: ['tool'],
    registers,
  });
  const seconds = new Histogram({
    name: 'fermata_mcp_tool_call_seconds',
    help: 'Duration of tool calls',
    labelNames: ['tool'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 600],
    registers,
  });
  const apiSeconds = new Histogram({
    name: 'fermata_mcp_api_request_seconds',
    help: 'Duration of requests of the run API, by route and status',
    labelNames: ['route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 15, 60],
    registers,
  });
  registerLive(registry, sources);
  const runs: Gauge<'status'> = new Gauge({
    name: 'fermata_mcp_runs',
    help: 'Runs that Temporal keeps, by status; the same at every mcp-server. Absent while Temporal is away.',
    labelNames: ['status'],
    registers,
    async collect() {
      const counts = await sources.runCounts();
      runs.reset();
      for (const [status, count] of Object.entries(counts ?? {})) runs.set({ status }, count);
    },
  });
  return {
    registry,
    apiAnswered(route, status, duration) {
      apiSeconds.observe({ route, status }, duration);
    },
    callStarted(tool) {
      active.inc({ tool });
    },
    callEnded(tool, outcome, duration) {
      active.dec({ tool });
      calls.inc({ tool, outcome });
      seconds.observe({ tool }, duration);
    },
  };
}

/** What is asked for when somebody reads. */
function registerLive(registry: Registry, sources: MetricSources): void {
  const live: readonly [string, string, () => number][] = [
    ['fermata_mcp_api_listeners', 'Open streams of events of the run API', () => sources.listeners()],
    ['fermata_mcp_sessions', 'Open sessions of clients of the sessionful era', () => sources.sessions()],
    ['fermata_mcp_watched_runs', 'Runs whose end somebody waits for', () => sources.watchedRuns()],
  ];
  for (const [name, help, read] of live) {
    const gauge = new Gauge({
      name,
      help,
      registers: [],
      collect() {
        this.set(read());
      },
    });
    registry.registerMetric(gauge);
  }
}
