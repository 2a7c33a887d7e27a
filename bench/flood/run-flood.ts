/**
 * `npm run bench -- flood [--quick] [--engine=...] [--arms=...] [--lanes=N]`: 48 batch and 4
 * interactive closed-loop agents with their own loop on two engines with memory for half of their contexts,
 * through each rival and through fermata. Prints a table and one line a bar; writes `flood.json`, with the time
 * at which each run ended. On llama.cpp (`flood-llamacpp.json`): the figures as they are, and whether the arms
 * rank as in the simulation.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { bar, publish, type Bar } from '../bars.ts';
import { SetupFault } from '../../cli/setup/setup-fault.ts';
import { floodOverTime } from '../plots/flood-over-time.ts';
import { writePlot } from '../plots/write-plot.ts';
import { makeWorkDir, toolsDir, withoutSettings } from '../site/work-dir.ts';
import { boundLines } from '../sim/flood-bars.ts';
import type { Comparison } from '../sim/compare.ts';
import { comparisonTable } from '../sim/table.ts';
import { floodArms, residency, sglangRouter, type Arm } from './arms.ts';
import type { FloodOptions } from './options.ts';
import { planOf, seedsOf, type FloodPlan } from './plan.ts';
import { agreementLines, agreementOf, rankedOf, rankingBars, type Agreement } from './ranking.ts';
import { bestLines, comparisonOf, failureLines, floodBars, identityOf } from './summary.ts';
import { sweep, type SweepFound } from './sweep.ts';
import type { WindowFound } from './window.ts';

/** @throws SetupFault that names the arms there are. */
export function chosenArms(known: readonly Arm[], names: readonly string[] | null): readonly Arm[] {
  if (names === null) return known;
  return names.map((name) => {
    const found = known.find((arm) => arm.name === name);
    if (found !== undefined) return found;
    throw new SetupFault(`no arm '${name}'; there are ${known.map((arm) => arm.name).join(', ')}`);
  });
}

export interface FloodRun {
  readonly bars: readonly Bar[];
  readonly packages: Readonly<Record<string, string>>;
  readonly details: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** When the runs of each window ended, in ms after the start. */
  readonly series?: readonly Pick<WindowFound, 'arm' | 'seed' | 'endedAtMs'>[];
}

const simResult = resolve(import.meta.dirname, '..', 'results', 'sim-flood.json');

/** Measures and gives what was found; prints only progress. */
export async function runFlood(
  arms: readonly Arm[],
  plan: FloodPlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
): Promise<FloodRun> {
  const work = await makeWorkDir('flood');
  const seeds = seedsOf(plan.repeats);
  try {
    const site = { workDir: work.path, toolsDir, environment: withoutSettings(environment), progress };
    const found = await sweep({ ...plan, arms, seeds }, site);
    return summaryOf(plan, seeds, arms, found, await readJson(simResult));
  } finally {
    await work.close();
  }
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Pure. @param simReport `sim-flood.json`; null: there is none. */
export function summaryOf(
  plan: FloodPlan,
  seeds: readonly number[],
  arms: readonly Arm[],
  { windows, notRun }: SweepFound,
  simReport: unknown,
): FloodRun {
  const { scenario } = plan;
  const comparison = comparisonOf(scenario, seeds, windows);
  const namesOf = (kind: Arm['kind']): string[] =>
    arms.filter((arm) => arm.kind === kind).map(({ name }) => name);
  const [routers, schedulers] = [namesOf('router'), namesOf('programs')];
  const identity = identityOf(windows);
  const agreement = rankedLike(simReport, comparison, arms, plan.tie);
  const simulated = plan.engine === 'simulated';
  const sides = { arm: residency.name, base: sglangRouter.name, routers, schedulers };
  const bars = [
    ...(simulated ? floodBars(comparison, sides) : []),
    ...(simulated ? [bar(`${scenario.name} replies that differ`, identity.wrongReplies, '=', 0)] : []),
    ...rankingBars(scenario.name, agreement),
  ];
  const lines = [
    `${scenario.name}: ${scenario.about}`,
    comparisonTable(comparison),
    `Median of ${seeds.length} repeats (lowest-highest).`,
    ...(simulated ? boundLines(comparison) : []),
    'of the routers:',
    ...bestLines(comparison, residency.name, routers),
    'of all rivals:',
    ...bestLines(comparison, residency.name, [...routers, ...schedulers]),
    ...(agreement === null
      ? ['not compared with the simulation: `npm run sim -- flood` writes what is missing']
      : agreementLines(agreement)),
    `same work: ${identity.wrongReplies} replies that the plan does not have; ${identity.different} of ${identity.compared} runs told otherwise than in ${windows[0]?.arm ?? 'the first arm'}`,
    ...failureLines(windows),
    ...Object.entries(notRun).map(([name, why]) => `${name} was not run: ${why}`),
  ];
  return {
    bars,
    packages: Object.fromEntries(
      windows.flatMap(({ arm, version }) => (version === null ? [] : [[arm, version] as const])),
    ),
    details: {
      engine: plan.engine,
      lanes: plan.lanes,
      seeds,
      notRun,
      identity,
      agreement,
      comparisons: [comparison],
      series: windows.map(({ arm, seed, endedAtMs }) => ({ arm, seed, endedAtMs })),
      gatewayCpus: windows.map(({ arm, seed, gatewayCpus }) => ({ arm, seed, gatewayCpus })),
      failures: windows.map(({ arm, seed, failures }) => ({ arm, seed, ...failures })),
    },
    text: lines.join('\n'),
    series: windows.map(({ arm, seed, endedAtMs }) => ({ arm, seed, endedAtMs })),
  };
}

/** null: there is nothing to compare with. */
function rankedLike(
  simReport: unknown,
  comparison: Comparison,
  arms: readonly Arm[],
  tie: number,
): Agreement | null {
  if (simReport === null) return null;
  const policyOf = (name: string): string | null => arms.find((arm) => arm.name === name)?.policy ?? null;
  return agreementOf(
    rankedOf(simReport, (name) => name),
    rankedOf({ details: { comparisons: [comparison] } }, policyOf),
    tie,
  );
}

/** The first seed, each class a picture: `flood-interactive.svg` and `flood-batch.svg`. */
async function drawFlood({ scenario }: FloodPlan, { series = [] }: FloodRun): Promise<void> {
  const first = series.filter(({ seed }) => seed === series[0]?.seed);
  for (const serviceClass of ['interactive', 'batch'] as const) {
    const chart = floodOverTime({
      title: `Flood: ${serviceClass} runs a minute`,
      note: `${scenario.about}; ${new Date().toISOString().slice(0, 10)}`,
      endMs: scenario.warmUpMs + scenario.windowMs,
      arms: first.map(({ arm, endedAtMs }) => ({ name: arm, endedAtMs: endedAtMs[serviceClass] })),
    });
    await writePlot(`${scenario.name}-${serviceClass}`, chart);
  }
}

/** @returns the exit code. */
export async function runFloodBench(options: FloodOptions): Promise<0 | 1> {
  const startedMs = performance.now();
  const plan = planOf(options.engine, options.quick, options.lanes);
  const run = await runFlood(chosenArms(floodArms, options.arms), plan, process.env, (line) =>
    process.stderr.write(`${line}\n`),
  );
  process.stdout.write(`\n${run.text}\n\n`);
  await drawFlood(plan, run);
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish(plan.scenario.name, run.bars, {
    packages: run.packages,
    details: { options, seconds, ...run.details },
  });
}
