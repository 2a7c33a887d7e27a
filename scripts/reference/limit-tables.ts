/** Every queue, cache, wait, body and retry that has a bound, as tables for the documentation. */
import { limitText } from './limit-value.ts';
import type { Limit } from './limits/limit.ts';
import { everywhereLimits } from './limits/everywhere.ts';
import { mcpServerLimits } from './limits/mcp-server.ts';
import { proxyLimits } from './limits/proxy.ts';
import { runsLimits } from './limits/runs.ts';
import { schedulerLimits } from './limits/scheduler.ts';
import { workerLimits } from './limits/worker.ts';
import { markdownTable } from './markdown-tables.ts';

export const limits: Readonly<Record<string, readonly Limit[]>> = {
  'limits-scheduler': schedulerLimits,
  'limits-proxy': proxyLimits,
  'limits-worker': workerLimits,
  'limits-runs': runsLimits,
  'limits-mcp-server': mcpServerLimits,
  'limits-everywhere': everywhereLimits,
};

export function limitTables(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(limits).map(([table, rows]) => [
      table,
      markdownTable(
        ['what', 'bound', 'at it', 'setting'],
        rows.map(({ what, file, name, after, atIt, setting }) => [
          what,
          limitText(file, name, after),
          atIt,
          setting ?? '',
        ]),
      ),
    ]),
  );
}
