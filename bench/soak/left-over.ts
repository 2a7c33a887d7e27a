/** What is held or in flight somewhere although nobody asks for anything any more. */
import type { Cluster } from '../operate/cluster.ts';
import { activeScheduler } from '../operate/scheduler-role.ts';
import { proxyCounts } from '../overhead/proxy-counts.ts';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import type { LeftOver } from './found.ts';

/** Turns that were in flight on a killed proxy are dropped by the scheduler after 30 s. */
const restMs = 60_000;
const pollMs = 1_000;

export async function whatIsLeft(cluster: Cluster): Promise<LeftOver> {
  const deadlineMs = performance.now() + restMs;
  for (;;) {
    const left = await look(cluster);
    if (left.length === 0 || performance.now() > deadlineMs) return left;
    await new Promise((resolve) => {
      setTimeout(resolve, pollMs);
    });
  }
}

async function look(cluster: Cluster): Promise<LeftOver> {
  const left: string[] = [];
  const note = (where: string, what: string, count: number): void => {
    if (count > 0) left.push(`${where}: ${count} ${what}`);
  };
  for (const { name, url } of cluster.of('proxy')) {
    const { held, active } = await proxyCounts(url);
    note(name, 'turns held', held);
    note(name, 'turns in flight', active);
  }
  const active = await activeScheduler(cluster);
  const response = await fetch(`${active.url}/status`, { signal: AbortSignal.timeout(10_000) });
  const status = schedulerStatusSchema.parse(await response.json());
  note(
    active.name,
    'turns held',
    status.held.reduce((sum, { turns }) => sum + turns, 0),
  );
  for (const { id, inFlight } of status.replicas) note(active.name, `turns in flight on ${id}`, inFlight);
  for (const [index, engine] of cluster.engines.entries())
    note(`engine ${index}`, 'requests', engine.counts().active);
  note('tool server', 'calls', cluster.tools.calls().running);
  return left;
}
