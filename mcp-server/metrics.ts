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
}

/** For a server whose metrics nobody can read. */
export const noMeter: CallMeter = { callStarted: () => undefined, callEnded: () => undefined };

export interface MetricSources {
  sessions(): number;
  watchedRuns(): number;
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
  const sessions = new Gauge({
    name: 'fermata_mcp_sessions',
    help: 'Open sessions of clients of the sessionful era',
    registers: [],
    collect() {
      this.set(sources.sessions());
    },
  });
  const watchedRuns = new Gauge({
    name: 'fermata_mcp_watched_runs',
    help: 'Runs whose end somebody waits for',
    registers: [],
    collect() {
      this.set(sources.watchedRuns());
    },
  });
  registry.registerMetric(sessions);
  registry.registerMetric(watchedRuns);
  return {
    registry,
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
