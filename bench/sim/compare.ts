/** Runs arms over the same seeds, interleaved, and keeps every result; ratios are taken seed by seed. */
import type { ArmKind } from './arms/arm.ts';
import { measure, type MetricName, type Metrics } from './measure.ts';
import type { Scenario } from './scenario.ts';
import { Simulation } from './simulation.ts';
import { spreadOf, type Spread } from './statistics.ts';

export interface ArmResult {
  readonly arm: string;
  /** In the order of the seeds. */
  readonly bySeed: readonly Metrics[];
}

export interface Comparison {
  readonly scenario: Scenario;
  readonly seeds: readonly number[];
  readonly results: readonly ArmResult[];
}

export function compare(scenario: Scenario, kinds: readonly ArmKind[], seeds: readonly number[]): Comparison {
  const results = kinds.map((kind) => ({ arm: kind.name, bySeed: [] as Metrics[] }));
  for (const seed of seeds) {
    for (const [index, kind] of kinds.entries()) {
      results[index]?.bySeed.push(measure(new Simulation(scenario, kind, seed).run()));
    }
  }
  return { scenario, seeds, results };
}

export function spread(comparison: Comparison, arm: string, metric: MetricName): Spread {
  return spreadOf(resultOf(comparison, arm)?.bySeed.map((metrics) => metrics[metric]) ?? []);
}

/** Median over seeds of an arm's value over another one's of the same seed; null when either is missing or zero. */
export function ratio(comparison: Comparison, arm: string, over: string, metric: MetricName): number | null {
  const ours = resultOf(comparison, arm)?.bySeed;
  const theirs = resultOf(comparison, over)?.bySeed;
  if (ours === undefined || theirs === undefined) return null;
  const ratios = ours.map((metrics, index) => {
    const value = metrics[metric];
    const base = theirs[index]?.[metric] ?? null;
    return value === null || base === null || base === 0 ? null : value / base;
  });
  return spreadOf(ratios).median;
}

/** The arm with the best median of a metric; undefined when none has one. */
export function bestArm(
  comparison: Comparison,
  metric: MetricName,
  better: 'highest' | 'lowest',
): { readonly arm: string; readonly value: number } | undefined {
  let best: { readonly arm: string; readonly value: number } | undefined;
  for (const { arm } of comparison.results) {
    const value = spread(comparison, arm, metric).median;
    if (value === null) continue;
    const wins = best === undefined || (better === 'highest' ? value > best.value : value < best.value);
    if (wins) best = { arm, value };
  }
  return best;
}

function resultOf(comparison: Comparison, arm: string): ArmResult | undefined {
  return comparison.results.find((result) => result.arm === arm);
}
