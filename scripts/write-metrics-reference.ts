/**
 * Writes the tables of `docs/metrics.md` from what the services register. The words around the tables are
 * kept. `test/metrics-reference.test.ts` fails when the file is not what this would write.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Registry } from 'prom-client';
import { createWorkerMetrics } from '../activities/worker-metrics.ts';
import { configFileSchema } from '../contracts/config-file.ts';
import { createMetrics as createMcpMetrics } from '../mcp-server/metrics.ts';
import { createMetrics as createProxyMetrics } from '../proxy/metrics.ts';
import { createState } from '../scheduler/core/state.ts';
import { createMetrics as createSchedulerMetrics } from '../scheduler/host/metrics.ts';

export const referencePath = resolve(import.meta.dirname, '..', 'docs', 'metrics.md');

/** The registries by the names of their sections. */
function registries(): Readonly<Record<string, Registry>> {
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
    'mcp-server': createMcpMetrics({ sessions: () => 0, watchedRuns: () => 0, listeners: () => 0 }).registry,
    worker: createWorkerMetrics().registry,
  };
}

/** The reference with the tables that hold now. @throws Error when a section has no place for its table. */
export function withCurrentTables(reference: string): string {
  return Object.entries(registries()).reduce((text, [section, registry]) => {
    const place = new RegExp(`(<!-- table: ${section} -->\n)[^]*?(<!-- end -->)`);
    if (!place.test(text)) throw new Error(`${referencePath} has no place for the table of '${section}'`);
    return text.replace(place, (_all, begin: string, end: string) => begin + tableOf(registry) + end);
  }, reference);
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
  const rows = metrics
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labelNames = [], help }) => {
      const labels = labelNames.map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${labels} | ${help.replaceAll('|', '\\|')} |\n`;
    });
  return ['| metric | type | labels | meaning |\n', '|---|---|---|---|\n', ...rows].join('');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(referencePath, withCurrentTables(readFileSync(referencePath, 'utf8')));
}
