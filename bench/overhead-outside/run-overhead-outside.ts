/**
 * `npm run bench -- overhead-outside [--quick]`: does wrk, which nobody here wrote, find the overhead that our
 * own load generator finds? The same arms, engine and requests, the generators in turn.
 */
import { loadavg } from 'node:os';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { publish } from '../bars.ts';
import { startDirect } from '../overhead/arms/direct.ts';
import { startFermata } from '../overhead/arms/fermata.ts';
import { startSite } from '../overhead/site.ts';
import { measureOutside, type OutsideResult } from './measure.ts';
import { planOf, type OutsidePlan } from './plan.ts';
import { outsideBars, outsideTable } from './summary.ts';
import { ensureWrk } from './wrk-program.ts';

export interface OutsideRun {
  readonly result: OutsideResult;
  readonly wrkVersion: string;
}

/** Measures and gives what was found; prints only progress. @throws SetupFault when wrk cannot be had. */
export async function runOutside(
  plan: OutsidePlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
): Promise<OutsideRun> {
  const parts: Closable[] = [];
  try {
    const site = await startSite(environment, progress);
    parts.push(site);
    const wrk = await ensureWrk(site.toolsDir, progress);
    const direct = await startDirect(site);
    const fermata = await startFermata(site);
    parts.push(fermata);
    const arms = [
      { ...direct, name: 'direct' as const },
      { ...fermata, name: 'fermata' as const },
    ];
    return { result: await measureOutside({ site, arms, wrk, plan }), wrkVersion: wrk.version };
  } finally {
    await closeInReverse(parts);
  }
}

/** @returns the exit code. */
export async function runOutsideBench(quick: boolean): Promise<0 | 1> {
  const startedMs = performance.now();
  const before = loadavg();
  const plan = planOf(quick);
  const { result, wrkVersion } = await runOutside(plan, process.env, (line) =>
    process.stderr.write(`${line}\n`),
  );
  const after = loadavg();
  process.stdout.write(
    `\n${outsideTable(result, wrkVersion)}\n\nMedian of ${plan.repeats} repeats (lowest..highest); an error is half of their range. Streams of one chunk at ${plan.paced.ratePerSecond}/s: ours to the first byte from when it was due, wrk from when it was sent to the end. `,
  );
  process.stdout.write(
    `Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n\n`,
  );
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish('overhead-outside', outsideBars(result), {
    packages: { wrk: wrkVersion },
    details: { quick, plan, seconds, loadAverage: { before, after }, ...result },
  });
}
