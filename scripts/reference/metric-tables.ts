/** The metrics that the services register. */
import type { Registry } from 'prom-client';
import { createWorkerMetrics } from '../../activities/worker-metrics.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { createMetrics as createMcpMetrics } from '../../mcp-server/metrics.ts';
import { createMetrics as createProxyMetrics } from '../../proxy/metrics.ts';
import { createState } from '../../scheduler/core/state.ts';
import { createMetrics as createSchedulerMetrics } from '../../scheduler/host/metrics.ts';
import { spanRegistry } from '../../telemetry/metrics-text.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { markdownTable } from './markdown-tables.ts';

const noTelemetry = { counts: () => ({ exported: 0, dropped: 0 }) } as Telemetry;

/** The registries by the names of their tables. */
export function registries(): Readonly<Record<string, Registry>> {
  const { policy, callers } = configFileSchema.parse({ pool: [{ id: 'a', url: 'http://127.0.0.1:1' }] });
  return {
    proxy: createProxyMetrics({
      active: () => 0,
      held: () => 0,
      linked: () => false,
      redisUp: () => null,
      memories: () => ({}),
    }).registry,
    scheduler: createSchedulerMetrics(createState(policy, callers)).registry,
    'mcp-server': createMcpMetrics({
      sessions: () => 0,
      watchedRuns: () => 0,
      listeners: () => 0,
      runCounts: async () => null,
    }).registry,
    worker: createWorkerMetrics().registry,
    traces: spanRegistry(noTelemetry),
  };
}

export function metricTables(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(registries()).map(([name, registry]) => [name, tableOf(registry)]),
  );
}

/** What prom-client knows of a metric beyond its types. */
interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames?: readonly string[];
}

function tableOf(registry: Registry): string {
  const metrics = registry.getMetricsAsArray() as unknown as readonly Described[];
  return markdownTable(
    ['metric', 'type', 'labels', 'meaning'],
    metrics
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, type, labelNames = [], help }) => {
        const labels = labelNames.map((label) => `\`${label}\``).join(', ');
        return [`\`${name}\``, type, labels, help];
      }),
  );
}
