/**
 * `npm run bench -- routing [--quick] [--arms=...] [--lanes=N]`: 8 runs at a time on two engines with memory for
 * all of them: where a turn goes decides how much of its prompt is there already. fermata against each rival's
 * cache-aware policy and its round robin: it ties with the best of them or beats it, in runs a minute and in the
 * share of prompt tokens that were cached.
 */
import { publish, spreadBar, type Bar, bar } from '../bars.ts';
import { chosenArms, type FloodRun } from '../flood/run-flood.ts';
import { residency, routingArms, type Arm } from '../flood/arms.ts';
import type { FloodOptions } from '../flood/options.ts';
import { seedsOf, type FloodPlan } from '../flood/plan.ts';
import { bestOf, comparisonOf, failureLines, identityOf, ratioSpread } from '../flood/summary.ts';
import { sweep, type SweepFound } from '../flood/sweep.ts';
import { agents, memoryFor } from '../sim/scenarios.ts';
import type { Comparison } from '../sim/compare.ts';
import type { MetricName } from '../sim/measure.ts';
import type { Scenario } from '../sim/scenario.ts';
import { comparisonTable } from '../sim/table.ts';
import { makeWorkDir, toolsDir, withoutSettings } from '../site/work-dir.ts';

const loads = [agents('batch', 8)];

/** What a closed loop of this length differs by between two runs of the same arm. */
const leastRatio = 0.97;

export function routingPlan(quick: boolean, lanes: number | null): FloodPlan {
  const scenario: Scenario = {
    name: 'routing',
    about: '8 agents on two engines with memory for three times their contexts',
    replicas: memoryFor(3, loads),
    loads,
    warmUpMs: quick ? 6_000 : 15_000,
    windowMs: quick ? 18_000 : 60_000,
  };
  // A window takes less than a tenth of a processor.
  const atOnce = lanes ?? (quick ? routingArms.length : 3);
  return { engine: 'simulated', dialogue: 'scripted', scenario, repeats: 3, tie: 0.03, lanes: atOnce };
}

const goals: readonly { readonly words: string; readonly metric: MetricName }[] = [
  // Every run has four turns: counted by these, a run under way counts for what is done of it.
  { words: 'runs/min', metric: 'turnsPerMinute' },
  { words: 'cached share', metric: 'cachedShare' },
];

export function routingBars(comparison: Comparison, rivals: readonly string[]): Bar[] {
  return goals.map(({ words, metric }) => {
    const best = bestOf(comparison, rivals, metric, 'highest');
    const title = `routing ${words} over the best rival`;
    if (best === undefined) return bar(title, null, '>=', leastRatio);
    return spreadBar(title, ratioSpread(comparison, residency.name, best, metric), '>=', leastRatio);
  });
}

/** Pure. */
export function routingSummary(
  { scenario }: FloodPlan,
  seeds: readonly number[],
  arms: readonly Arm[],
  { windows, notRun }: SweepFound,
): FloodRun {
  const comparison = comparisonOf(scenario, seeds, windows);
  const rivals = arms.filter((arm) => arm.kind === 'router').map(({ name }) => name);
  const identity = identityOf(windows);
  return {
    bars: [
      ...routingBars(comparison, rivals),
      bar('routing replies that differ', identity.wrongReplies, '=', 0),
    ],
    packages: Object.fromEntries(
      windows.flatMap(({ arm, version }) => (version === null ? [] : [[arm, version] as const])),
    ),
    details: { seeds, notRun, identity, comparisons: [comparison] },
    text: [
      `routing: ${scenario.about}`,
      comparisonTable(comparison),
      `Median of ${seeds.length} repeats (lowest-highest).`,
      ...goals.map(
        ({ words, metric }) =>
          `${words}: the best rival is ${bestOf(comparison, rivals, metric, 'highest') ?? 'none'}`,
      ),
      `same work: ${identity.wrongReplies} replies that the plan does not have; ${identity.different} of ${identity.compared} runs told otherwise than in ${windows[0]?.arm ?? 'the first arm'}`,
      ...failureLines(windows),
      ...Object.entries(notRun).map(([name, why]) => `${name} was not run: ${why}`),
    ].join('\n'),
  };
}

/** @returns the exit code. */
export async function runRoutingBench(options: FloodOptions): Promise<0 | 1> {
  const startedMs = performance.now();
  const plan = routingPlan(options.quick, options.lanes);
  const arms = chosenArms(routingArms, options.arms);
  const seeds = seedsOf(plan.repeats);
  const work = await makeWorkDir('routing');
  try {
    const found = await sweep(
      { ...plan, arms, seeds },
      {
        workDir: work.path,
        toolsDir,
        environment: withoutSettings(process.env),
        progress: (line) => process.stderr.write(`${line}\n`),
      },
    );
    const run = routingSummary(plan, seeds, arms, found);
    process.stdout.write(`\n${run.text}\n\n`);
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    return await publish('routing', run.bars, {
      packages: run.packages,
      details: { options, seconds, ...run.details },
    });
  } finally {
    await work.close();
  }
}
