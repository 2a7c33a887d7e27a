/**
 * `npm run bench -- scale [--quick]`: 1, 2 and 4 proxies against one scheduler, 1, 2 and 4 workers against one
 * Temporal, a thousand runs awaited at once: throughput, what each process uses of the processors, and where
 * more of a part stops to help. All on this machine, so its processors are shared by everything in the table.
 */
import { cpus, loadavg } from 'node:os';
import { publish } from '../bars.ts';
import { writePlot } from '../plots/write-plot.ts';
import { startSite } from '../steps/site.ts';
import { measureAwaiting } from './awaiting.ts';
import { planOf, type ScalePlan } from './plan.ts';
import { measureProxies } from './proxies.ts';
import { scaleBars, scaleChart, scaleText, type ScaleResult } from './summary.ts';
import { measureWorkers } from './workers.ts';

/** Measures and gives what was found; prints only progress. */
export async function runScale(
  plan: ScalePlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
): Promise<ScaleResult> {
  const proxies = await measureProxies(plan, environment, progress);
  const site = await startSite(environment, progress, { separate: true });
  try {
    const workers = await measureWorkers(site, plan, progress);
    return { proxies, workers, awaiting: await measureAwaiting(site, plan, progress), cores: cpus().length };
  } finally {
    await site.close();
  }
}

/** @returns the exit code. */
export async function runScaleBench(quick: boolean): Promise<0 | 1> {
  const startedMs = performance.now();
  const before = loadavg();
  const plan = planOf(quick);
  const result = await runScale(plan, process.env, (line) => process.stderr.write(`${line}\n`));
  const after = loadavg();
  process.stdout.write(`\n${scaleText(result)}\n\nMedian of ${plan.repeats} repeats (lowest..highest). `);
  process.stdout.write(
    `Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n\n`,
  );
  await writePlot(
    'scale',
    scaleChart(result, `${result.cores} cores, ${new Date().toISOString().slice(0, 10)}`),
  );
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish('scale', scaleBars(result), {
    details: { quick, plan, seconds, loadAverage: { before, after }, ...result },
  });
}
