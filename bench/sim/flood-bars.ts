/** What the flood must show; residency over the sticky router and over engine-load, and against the memory bound. */
import { bar, type Bar } from '../bars.ts';
import { ratio, type Comparison } from './compare.ts';
import { memoryBound, type MemoryBound } from './memory-bound.ts';
import { spreadOf } from './statistics.ts';

export function floodBars(comparison: Comparison): Bar[] {
  const over = (arm: string, base: string, metric: 'interactiveRunsPerMinute' | 'batchRunsPerMinute') =>
    ratio(comparison, arm, base, metric);
  return [
    bar(
      'flood residency interactive over sticky',
      over('residency', 'sticky', 'interactiveRunsPerMinute'),
      '>=',
      3,
    ),
    bar('flood residency batch over sticky', over('residency', 'sticky', 'batchRunsPerMinute'), '>=', 1.3),
    bar(
      'flood residency interactive over engine-load',
      over('residency', 'engine-load', 'interactiveRunsPerMinute'),
      '>=',
      1.2,
    ),
    bar(
      'flood residency batch over engine-load',
      over('residency', 'engine-load', 'batchRunsPerMinute'),
      '>=',
      1.2,
    ),
    bar(
      'flood learned capacity interactive over sticky',
      over('residency-learned', 'sticky', 'interactiveRunsPerMinute'),
      '>=',
      3,
    ),
    bar(
      'flood learned capacity batch over sticky',
      over('residency-learned', 'sticky', 'batchRunsPerMinute'),
      '>=',
      1.25,
    ),
    bar('flood residency share of the memory bound', shareOfBound(comparison, 'residency'), '>=', 0.85),
  ];
}

/** Turns of an arm over those that memory allows, the median over seeds. */
export function shareOfBound(
  comparison: Comparison,
  arm: string,
  of: (bound: MemoryBound) => number = (bound) => bound.turnsPerMinute,
): number | null {
  const result = comparison.results.find((one) => one.arm === arm);
  if (result === undefined) return null;
  const shares = comparison.seeds.map((seed, index) => {
    const turns = result.bySeed[index]?.turnsPerMinute ?? null;
    const bound = memoryBound(comparison.scenario, seed);
    return turns === null || bound === null ? null : turns / of(bound);
  });
  return spreadOf(shares).median;
}

/** The bound in words, and the share that each arm reached; both with the room for leftovers taken off too. */
export function boundLines(comparison: Comparison): string[] {
  const bound = memoryBound(comparison.scenario, comparison.seeds[0] ?? 0);
  if (bound === null) return [];
  const shares = (of: (one: MemoryBound) => number): string =>
    comparison.results
      .map(({ arm }) => `${arm} ${shareOfBound(comparison, arm, of)?.toFixed(2) ?? '-'}`)
      .join(', ');
  const { contextsThatFit, meanPauseMs, meanTurnMs, turnsPerMinute, besideLeftovers } = bound;
  return [
    `memory bound: ${contextsThatFit.toFixed(1)} contexts fit ÷ (pause ${meanPauseMs.toFixed(0)} ms + turn ${meanTurnMs.toFixed(0)} ms) = ${turnsPerMinute.toFixed(0)} turns/min`,
    `share of it: ${shares((one) => one.turnsPerMinute)}`,
    `beside what finished runs leave in the cache ${besideLeftovers.contextsThatFit.toFixed(1)} fit = ${besideLeftovers.turnsPerMinute.toFixed(0)} turns/min`,
    `share of that: ${shares((one) => one.besideLeftovers.turnsPerMinute)}`,
  ];
}
