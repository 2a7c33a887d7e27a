/** What the flood must show; residency over the sticky router and over engine-load, and against the memory bound. */
import { bar, type Bar } from '../bars.ts';
import { ratio, spread, type Comparison } from './compare.ts';
import { memoryBound } from './memory-bound.ts';
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
export function shareOfBound(comparison: Comparison, arm: string): number | null {
  const result = comparison.results.find((one) => one.arm === arm);
  if (result === undefined) return null;
  const shares = comparison.seeds.map((seed, index) => {
    const turns = result.bySeed[index]?.turnsPerMinute ?? null;
    const bound = memoryBound(comparison.scenario, seed);
    return turns === null || bound === null ? null : turns / bound.turnsPerMinute;
  });
  return spreadOf(shares).median;
}

/** The bound in words, and the share that each arm reached. */
export function boundLines(comparison: Comparison): string[] {
  const bound = memoryBound(comparison.scenario, comparison.seeds[0] ?? 0);
  if (bound === null) return [];
  const shares = comparison.results.map(({ arm }) => {
    const share = shareOfBound(comparison, arm);
    return `${arm} ${share === null ? '-' : share.toFixed(2)}`;
  });
  const turns = spread(comparison, 'sticky', 'turnsPerMinute').median;
  return [
    `memory bound: ${bound.contextsThatFit.toFixed(1)} contexts fit ÷ (pause ${bound.meanPauseMs.toFixed(0)} ms + turn ${bound.meanTurnMs.toFixed(0)} ms) = ${bound.turnsPerMinute.toFixed(0)} turns/min${turns === null ? '' : ` (sticky ${turns.toFixed(0)})`}`,
    `share of it: ${shares.join(', ')}`,
  ];
}
