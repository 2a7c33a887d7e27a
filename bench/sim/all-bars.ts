/**
 * What every scenario must show: the default arm within 3 % of the best arm in total throughput, and within
 * 10 % of the best in interactive p95. Where it is not, a line says by how much and what goes with it.
 */
import { bar, isMet, type Bar } from '../bars.ts';
import { bestArm, ratio, spread, type Comparison } from './compare.ts';
import type { MetricName } from './measure.ts';

interface Goal {
  readonly words: string;
  readonly metric: MetricName;
  readonly better: 'highest' | 'lowest';
  readonly op: '>=' | '<=';
  readonly limit: number;
}

const goals: readonly Goal[] = [
  { words: 'tokens/s over the best', metric: 'tokensPerSecond', better: 'highest', op: '>=', limit: 0.97 },
  {
    words: 'interactive p95 over the best',
    metric: 'interactiveP95Ms',
    better: 'lowest',
    op: '<=',
    limit: 1.1,
  },
];

/** One bar a goal; none for a goal that no arm has a value for, such as interactive p95 of batch alone. */
export function allBars(comparison: Comparison, arm: string): Bar[] {
  return goals.flatMap((goal) => {
    const best = bestArm(comparison, goal.metric, goal.better);
    if (best === undefined) return [];
    const value = ratio(comparison, arm, best.arm, goal.metric);
    return [bar(`${comparison.scenario.name} ${arm} ${goal.words}`, value, goal.op, goal.limit)];
  });
}

/** One line for each goal that the arm misses: who is better, by how much, and how they differ otherwise. */
export function lossLines(comparison: Comparison, arm: string): string[] {
  return goals.flatMap((goal) => {
    const best = bestArm(comparison, goal.metric, goal.better);
    if (best === undefined || best.arm === arm) return [];
    const value = ratio(comparison, arm, best.arm, goal.metric);
    if (isMet(bar('loss', value, goal.op, goal.limit))) return [];
    const { name, knownLoss } = comparison.scenario;
    const by = value === null ? 'cannot be compared with' : `is at ${value.toFixed(2)} of`;
    return [
      `${name}: in ${goal.metric} ${arm} ${by} ${best.arm}: ${differences(comparison, arm, best.arm)}` +
        (knownLoss === undefined ? '' : `. ${knownLoss}`),
    ];
  });
}

function differences(comparison: Comparison, arm: string, other: string): string {
  const both = (metric: MetricName, digits: number, divisor = 1): string =>
    [arm, other]
      .map((name) => spread(comparison, name, metric).median)
      .map((value) => (value === null ? '-' : (value / divisor).toFixed(digits)))
      .join(' against ');
  return [
    `cached share ${both('cachedShare', 2)}`,
    `batch hold p50 ${both('batchHoldP50Ms', 1, 1_000)} s`,
    `interactive hold p95 ${both('interactiveHoldP95Ms', 1, 1_000)} s`,
    `mean turn ${both('turnMeanMs', 2, 1_000)} s`,
    `interactive runs/min ${both('interactiveRunsPerMinute', 1)}`,
    `batch runs/min ${both('batchRunsPerMinute', 1)}`,
  ].join(', ');
}
