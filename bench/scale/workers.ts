/** 1, 2 and 4 workers that take runs from one Temporal, each a process of its own, as is every other service. */
import { resolve } from 'node:path';
import { closeInReverse } from '../../cli/close-in-reverse.ts';
import { nodeFlags } from '../../cli/node-flags.ts';
import { loader } from '../overhead/arms/one-process.ts';
import { orderOf } from '../overhead/plan.ts';
import { readyUrl, startProcess, type RunningProcess } from '../overhead/processes.ts';
import { Gate } from '../steps/gate.ts';
import { measureTogether, type Together } from '../steps/measure.ts';
import { planOf as stepsPlanOf } from '../steps/plan.ts';
import type { Site } from '../steps/site.ts';
import type { ScalePlan } from './plan.ts';

export interface WorkerWindow {
  readonly workers: number;
  readonly repeat: number;
  /** null: the runs were never all under way at once. */
  readonly together: Together | null;
}

const entry = resolve(import.meta.dirname, '..', '..', 'activities', 'main.ts');

/** @param site with each service in a process of its own; one worker is there already. */
export async function measureWorkers(
  site: Site,
  plan: ScalePlan,
  progress: (line: string) => void,
): Promise<readonly WorkerWindow[]> {
  const windows: WorkerWindow[] = [];
  const steps = { ...stepsPlanOf(true), together: plan.workers };
  // A busy machine spawns them slowly: without it the first would have ended before the last began.
  const gate = new Gate(site.engines);
  const extra: RunningProcess[] = [];
  let started = 0;
  try {
    for (let repeat = 0; repeat < plan.repeats; repeat += 1) {
      for (const count of orderOf(plan.counts, repeat)) {
        while (extra.length > count - 1) await extra.pop()?.close();
        while (extra.length < count - 1) {
          started += 1;
          extra.push(await startWorker(site, `worker-${started}`));
        }
        progress(`${count} workers, repeat ${repeat + 1} of ${plan.repeats}`);
        const pids = Object.fromEntries(extra.map(({ pid }, index) => [`worker ${index + 2}`, pid]));
        const together = await measureTogether({ ...site, pids: { ...site.pids, ...pids } }, steps, gate);
        windows.push({ workers: count, repeat, together });
      }
    }
  } finally {
    await closeInReverse(extra);
  }
  return windows;
}

async function startWorker(site: Site, name: string): Promise<RunningProcess> {
  const worker = await startProcess({
    name,
    command: process.execPath,
    args: [...nodeFlags, ...loader, entry],
    environment: site.workerEnvironment,
    workDir: site.workDir,
  });
  try {
    await readyUrl(worker);
    return worker;
  } catch (error) {
    await worker.close();
    throw error;
  }
}
