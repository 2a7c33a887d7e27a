/**
 * `npm run bench -- steps [--quick]`: what the runtime itself costs, on the embedded stack as `npm start`
 * runs it: milliseconds added to a turn-plus-tool step, steps a second of 100 runs, how soon 16 runs have
 * begun, and whether history grows linearly.
 */
import { loadavg } from 'node:os';
import { publish } from '../bars.ts';
import { measureAlone, measureBurst, measureHistory, measureTogether } from './measure.ts';
import { planOf, type Plan } from './plan.ts';
import { startSite, type Site } from './site.ts';
import { stepsBars, stepsTable, type Repeat } from './summary.ts';

async function measureRepeat(site: Site, plan: Plan): Promise<Repeat> {
  const alone = await measureAlone(site, plan);
  const bursts: (number | null)[] = [];
  for (let index = 0; index < plan.burst.burstsPerRepeat; index += 1) {
    bursts.push(await measureBurst(site, plan));
  }
  const together = await measureTogether(site, plan);
  return { alone, bursts, together, history: await measureHistory(site, plan) };
}

/** Measures and gives what was found; prints only progress. */
export async function measureSteps(
  plan: Plan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
  temporalAddress?: string,
): Promise<readonly Repeat[]> {
  const starting = startSite(environment, progress, { temporalAddress });
  // What is started has sessions of its own, which a terminal's Ctrl-C does not reach.
  // Asked twice it still closes everything.
  const stop = (): void =>
    void starting.then(async (site) => await site.close()).finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  const site = await starting;
  try {
    // First connections, compiled code and the list of tools belong to no step.
    await measureAlone(site, { ...plan, alone: { runs: 3, stepsPerRun: 5 } });
    const repeats: Repeat[] = [];
    for (let index = 0; index < plan.repeats; index += 1) {
      progress(`repeat ${index + 1} of ${plan.repeats} ...`);
      repeats.push(await measureRepeat(site, plan));
    }
    return repeats;
  } finally {
    await site.close();
  }
}

/** @returns the exit code. */
export async function runStepsBench(quick: boolean): Promise<0 | 1> {
  const startedMs = performance.now();
  const before = loadavg();
  const plan = planOf(quick);
  const repeats = await measureSteps(plan, process.env, (line) => process.stderr.write(`${line}\n`));
  const after = loadavg();
  process.stdout.write(`\n${stepsTable(repeats)}\n\nMedian of ${plan.repeats} repeats (lowest..highest). `);
  process.stdout.write(
    `Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n\n`,
  );
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish('steps', stepsBars(repeats), {
    details: { quick, plan, seconds, loadAverage: { before, after }, repeats },
  });
}
