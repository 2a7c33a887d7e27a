import { describe, expect, it } from 'vitest';
import { isMet } from '../../../bench/bars.ts';
import type { DecideResult } from '../../../bench/decide/measure.ts';
import { planOf, requestOf } from '../../../bench/decide/plan.ts';
import { decideBars, decideChart, decideTable, latencyRatio } from '../../../bench/decide/summary.ts';

const { cases } = planOf(true);

function resultWith(factor: number, fields: Partial<DecideResult> = {}): DecideResult {
  const windows = cases.flatMap((one) =>
    [0, 1, 2].flatMap((repeat) =>
      (['direct', 'fermata'] as const).map((arm) => ({
        case: one,
        arm,
        repeat,
        latencyMs: [40, 50, 60].map((ms) => (arm === 'fermata' ? ms * factor : ms)),
        failed: 0,
      })),
    ),
  );
  return { windows, compared: 40, different: 0, ...fields };
}

describe('the bars of decide', () => {
  it('are met by a latency near the direct one, in every case', () => {
    const bars = decideBars(resultWith(1.05), cases);
    expect(bars).toHaveLength(6);
    expect(bars.filter((one) => !isMet(one))).toEqual([]);
    for (const one of cases) expect(latencyRatio(resultWith(1.05), one, 'p50').median).toBeCloseTo(1.05);
    expect(decideTable(resultWith(1.05), cases)).toContain('labels, 20 at a time');
  });

  it('are missed by a slower one, by other labels and by comparing nothing', () => {
    const missed = (result: DecideResult): string[] =>
      decideBars(result, cases)
        .filter((one) => !isMet(one))
        .map(({ name }) => name);
    expect(missed(resultWith(1.2))).toHaveLength(4);
    expect(missed(resultWith(1, { different: 1 }))).toEqual(['decide labels that differ']);
    expect(missed(resultWith(1, { compared: 0 }))).toEqual(['decide labels that differ']);
  });
});

it('draws both arms of each case of a kind', () => {
  const { series } = decideChart(resultWith(1.05), cases, 'labels', '');
  expect(series.map(({ name }) => name)).toEqual([
    'direct, alone',
    'fermata, alone',
    'direct, 20 at a time',
    'fermata, 20 at a time',
  ]);
  expect(series.every(({ points }) => points.length === 9)).toBe(true);
});

it('asks for other letters with other numbers, and the same with the same', () => {
  expect(requestOf('labels', 1, 'm')).toEqual(requestOf('labels', 1, 'm'));
  expect(requestOf('labels', 1, 'm')).not.toEqual(requestOf('labels', 2, 'm'));
});
