/**
 * `npm run bench -- overhead [--quick] [--soak] [--arms=...]`: what a gateway costs between a client and an
 * engine, fermata's and others' in the same run: time to the first byte, delay of chunks, requests/s on one
 * core. `--soak` adds memory over 100,000 requests and of turns that are held.
 */
import { loadavg } from 'node:os';
import { closeInReverse } from '../../cli/close-in-reverse.ts';
import { SetupFault } from '../../cli/setup/setup-fault.ts';
import { publish, type Bar } from '../bars.ts';
import type { ArmName, ArmSite, RunningArm, StartArm } from './arms/arm.ts';
import { startDirect } from './arms/direct.ts';
import { startFermata, startFermataProcesses } from './arms/fermata.ts';
import { startLiteLlm } from './arms/litellm.ts';
import { startPassThrough } from './arms/pass-through.ts';
import { startPortkey } from './arms/portkey.ts';
import { startSglangRouter } from './arms/sglang-router.ts';
import { measureOneCore, measureOpenLoops, warmUp } from './measure.ts';
import type { OverheadOptions } from './options.ts';
import { planOf, type Plan } from './plan.ts';
import { startSite, type OverheadSite } from './site.ts';
import { measureSoak } from './soak.ts';
import { Summary, latencyTable, overheadBars, throughputTable } from './summary.ts';

const starts: Readonly<Record<ArmName, StartArm>> = {
  direct: startDirect,
  fermata: startFermata,
  'fermata-separate': async (site) => await startFermataProcesses(site),
  'pass-through': startPassThrough,
  litellm: startLiteLlm,
  portkey: startPortkey,
  'sglang-router': startSglangRouter,
};

export interface OverheadRun {
  readonly bars: readonly Bar[];
  readonly packages: Readonly<Record<string, string>>;
  readonly details: Readonly<Record<string, unknown>>;
  readonly text: string;
}

interface Started {
  readonly arms: RunningArm[];
  /** Why an arm is missing, by its name. */
  readonly notRun: Record<string, string>;
}

/** A rival that cannot be had is left out and named; without fermata there is nothing to measure. */
async function startArms(names: readonly ArmName[], site: ArmSite, started: Started): Promise<void> {
  for (const name of names) {
    try {
      started.arms.push(await starts[name](site));
    } catch (error) {
      if (!(error instanceof SetupFault) || name.startsWith('fermata')) throw error;
      started.notRun[name] = error.message;
      site.progress(`${name} is not run: ${error.message}`);
    }
  }
}

async function measureArms(site: OverheadSite, names: readonly ArmName[], plan: Plan): Promise<OverheadRun> {
  const started: Started = { arms: [], notRun: {} };
  try {
    site.progress('starting the arms ...');
    await startArms(names, site, started);
    const bench = { ...site, arms: started.arms, plan };
    await warmUp(bench);
    const open = await measureOpenLoops(bench);
    const closed = await measureOneCore(bench);
    if (closed === null)
      site.progress('requests/s on one core is not measured: it needs Linux and two cores');
    const summary = new Summary(open, closed);
    const ran = started.arms.map(({ name }) => name);
    return {
      bars: overheadBars(summary),
      packages: Object.fromEntries(
        started.arms.flatMap(({ name, version }) => (version === null ? [] : [[name, version] as const])),
      ),
      details: { plan, notRun: started.notRun, subtraction, open, closed },
      text: [
        ...plan.rates.map(({ ratePerSecond }) => `${latencyTable(summary, ran, ratePerSecond)}\n`),
        `${throughputTable(summary, ran)}\n`,
        ...ran.flatMap((name) => {
          const reasons = summary.reasons(name);
          return reasons.length === 0 ? [] : [`lost by ${name}: ${reasons.join('; ')}\n`];
        }),
        ...Object.entries(started.notRun).map(([name, why]) => `${name} was not run: ${why}\n`),
        `Median of ${plan.repeats} repeats (lowest..highest). ${subtraction}\n`,
      ].join('\n'),
    };
  } finally {
    await closeInReverse(started.arms);
  }
}

const subtraction =
  'Added: a quantile of the window through the gateway minus the same quantile of the direct window of the same repeat, same arrivals; times count from when a request was due.';

/** Measures and gives what was found; prints only progress. */
export async function runOverhead(
  options: OverheadOptions,
  plan: Plan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
): Promise<OverheadRun> {
  const before = loadavg();
  const site = await startSite(environment, progress);
  try {
    const run = await measureArms(site, options.arms, plan);
    const soak = options.soak ? await measureSoak(site, plan) : null;
    const after = loadavg();
    const load = `Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n`;
    return {
      bars: [...run.bars, ...(soak?.bars ?? [])],
      packages: run.packages,
      details: { ...run.details, soak: soak?.details ?? null, loadAverage: { before, after } },
      text: `${run.text}${soak === null ? '' : `\n${soak.text}`}${load}`,
    };
  } finally {
    await site.close();
  }
}

/** @returns the exit code. */
export async function runOverheadBench(options: OverheadOptions): Promise<0 | 1> {
  const startedMs = performance.now();
  const run = await runOverhead(options, planOf(options.quick), process.env, (line) =>
    process.stderr.write(`${line}\n`),
  );
  process.stdout.write(`\n${run.text}\n`);
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish('overhead', run.bars, {
    packages: run.packages,
    details: { options, seconds, ...run.details },
  });
}
