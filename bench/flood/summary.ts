/** What the windows of all arms come to: comparison, table, bars, the bound that memory sets. Pure. */
import { bar, spreadBar, type Bar } from '../bars.ts';
import { differences } from '../agents/agents.ts';
import type { Comparison } from '../sim/compare.ts';
import { bestArm } from '../sim/compare.ts';
import { shareOfBound } from '../sim/flood-bars.ts';
import type { MetricName } from '../sim/measure.ts';
import type { Scenario } from '../sim/scenario.ts';
import { spreadOf, type Spread } from '../sim/statistics.ts';
import type { WindowFound } from './window.ts';

/** @param windows in the order of the seeds within each arm. */
export function comparisonOf(
  scenario: Scenario,
  seeds: readonly number[],
  windows: readonly WindowFound[],
): Comparison {
  const arms = [...new Set(windows.map(({ arm }) => arm))];
  return {
    scenario,
    seeds,
    results: arms.map((arm) => ({
      arm,
      bySeed: windows.filter((window) => window.arm === arm).map(({ metrics }) => metrics),
    })),
  };
}

/** An arm's value over another one's of the same seed, as a spread over the seeds. */
export function ratioSpread({ results }: Comparison, arm: string, over: string, metric: MetricName): Spread {
  const ours = results.find((one) => one.arm === arm)?.bySeed ?? [];
  const theirs = results.find((one) => one.arm === over)?.bySeed ?? [];
  return spreadOf(
    ours.map((metrics, index) => {
      const value = metrics[metric];
      const base = theirs[index]?.[metric] ?? null;
      return value === null || base === null || base === 0 ? null : value / base;
    }),
  );
}

interface Goal {
  readonly words: string;
  readonly metric: MetricName;
  readonly better: 'highest' | 'lowest';
  readonly op: '>=' | '<=';
  readonly limit: number;
}

export const floodGoals: readonly Goal[] = [
  {
    words: 'interactive runs/min',
    metric: 'interactiveRunsPerMinute',
    better: 'highest',
    op: '>=',
    limit: 3,
  },
  { words: 'batch runs/min', metric: 'batchRunsPerMinute', better: 'highest', op: '>=', limit: 1.3 },
  { words: 'interactive p50', metric: 'interactiveP50Ms', better: 'lowest', op: '<=', limit: 0.4 },
];

/** The best of `rivals` in a metric, by the median; undefined when none of them was measured. */
export function bestOf(
  comparison: Comparison,
  rivals: readonly string[],
  metric: MetricName,
  better: 'highest' | 'lowest',
): string | undefined {
  const results = comparison.results.filter(({ arm }) => rivals.includes(arm));
  return bestArm({ ...comparison, results }, metric, better)?.arm;
}

export interface Sides {
  readonly arm: string;
  /** The router that the bars are set over. */
  readonly base: string;
  /** All routers, as they are shipped. */
  readonly routers: readonly string[];
  /** Rivals that schedule agent programs themselves. */
  readonly schedulers: readonly string[];
}

/**
 * Each goal over the router that the bars are set over, and over whichever router is best in it; whether every
 * rival that schedules is behind in each; and the share of what memory allows.
 */
export function floodBars(comparison: Comparison, { arm, base, routers, schedulers }: Sides): Bar[] {
  const name = comparison.scenario.name;
  const over = floodGoals.map(({ words, metric, op, limit }) =>
    spreadBar(`${name} ${words} over ${base}`, ratioSpread(comparison, arm, base, metric), op, limit),
  );
  const overBest = floodGoals.map(({ words, metric, better, op, limit }) => {
    const best = bestOf(comparison, routers, metric, better);
    const title = `${name} ${words} over the best router`;
    if (best === undefined) return bar(title, null, op, limit);
    return spreadBar(title, ratioSpread(comparison, arm, best, metric), op, limit);
  });
  const ahead = schedulers.flatMap((scheduler) =>
    floodGoals.map(({ words, metric, op }) =>
      spreadBar(`${name} ${words} over ${scheduler}`, ratioSpread(comparison, arm, scheduler, metric), op, 1),
    ),
  );
  return [
    ...over,
    ...overBest,
    ...ahead,
    bar(`${name} share of the memory bound`, shareOfBound(comparison, arm), '>=', 0.85),
  ];
}

/** Which arm is best of these in each goal, and how far off it is. */
export function bestLines(comparison: Comparison, arm: string, rivals: readonly string[]): string[] {
  return floodGoals.map(({ words, metric, better }) => {
    const best = bestOf(comparison, rivals, metric, better);
    if (best === undefined) return `${words}: none was measured`;
    const { median, lowest, highest } = ratioSpread(comparison, arm, best, metric);
    const text = [median, lowest, highest].map((value) => value?.toFixed(2) ?? '-');
    return `${words}: the best is ${best}; ${arm} over it ${text[0]} (${text[1]}..${text[2]})`;
  });
}

export interface Identity {
  /** Replies of simulated engines that were not the scripted ones, over all arms. */
  readonly wrongReplies: number;
  /** Runs that ended in the first arm and in another one with the same seed. */
  readonly compared: number;
  /** Of those, runs that were not told the same. */
  readonly different: number;
}

/** Whether all arms did the same work: each arm's answers against the first arm's of the same seed. */
export function identityOf(windows: readonly WindowFound[]): Identity {
  const [first] = windows;
  let compared = 0;
  let different = 0;
  for (const window of windows) {
    const base = windows.find(({ arm, seed }) => arm === first?.arm && seed === window.seed);
    if (base === undefined || base === window) continue;
    const found = differences(base.answers, window.answers);
    compared += found.compared;
    different += found.different;
  }
  return {
    wrongReplies: windows.reduce((sum, { wrongReplies }) => sum + wrongReplies, 0),
    compared,
    different,
  };
}

/** What went wrong in an arm, one line each; none when nothing did. */
export function failureLines(windows: readonly WindowFound[]): string[] {
  const arms = [...new Set(windows.map(({ arm }) => arm))];
  return arms.flatMap((arm) => {
    const failures = windows.filter((window) => window.arm === arm).map((window) => window.failures);
    const count = failures.reduce((sum, one) => sum + one.count, 0);
    const reasons = new Set(failures.flatMap((one) => one.reasons));
    return count === 0 ? [] : [`runs lost by ${arm}: ${count}; ${[...reasons].slice(0, 3).join('; ')}`];
  });
}
