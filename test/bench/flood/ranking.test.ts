import { describe, expect, it } from 'vitest';
import { agreementOf, rankedOf, rankingBars } from '../../../bench/flood/ranking.ts';
import { barLine, isMet } from '../../../bench/bars.ts';

type Rates = Readonly<Record<string, readonly [interactive: number, batch: number]>>;

/** As both commands write their results. */
function reportOf(rates: Rates, spread = 1): unknown {
  return {
    name: 'flood',
    details: {
      seeds: [1, 2, 3],
      comparisons: [
        {
          scenario: { name: 'flood' },
          results: Object.entries(rates).map(([arm, [interactive, batch]]) => ({
            arm,
            bySeed: [1 / spread, 1, spread].map((factor) => ({
              interactiveRunsPerMinute: interactive * factor,
              batchRunsPerMinute: batch * factor,
              turnsPerMinute: (interactive + batch) * 4,
              interactiveP50Ms: null,
            })),
          })),
        },
      ],
    },
  };
}

const same = (name: string): string => name;
const simulated = rankedOf(
  reportOf({ 'cache-aware': [8, 95], 'engine-load': [9.4, 92], residency: [32, 151], sticky: [8, 95] }),
  same,
);

describe('the ranking of policies in two results', () => {
  it('agrees when every pair that is apart in both is ordered alike', () => {
    const policies: Record<string, string> = { 'sglang-router': 'cache-aware', smg: 'cache-aware' };
    const real = rankedOf(
      reportOf({ 'sglang-router': [7, 90], smg: [1, 1], 'engine-load': [9, 91], residency: [30, 140] }),
      (arm) => policies[arm] ?? arm,
    );
    const { ordered, contradictions } = agreementOf(simulated, real);
    expect(ordered.map(({ metric, policies: pair }) => `${metric} ${pair.join('/')}`)).toContain(
      'interactiveRunsPerMinute cache-aware/residency',
    );
    expect(contradictions).toEqual([]);
    expect(rankingBars('flood', { ordered, contradictions }).every(isMet)).toBe(true);
  });

  it('does not agree when one pair is the other way round', () => {
    const real = rankedOf(
      reportOf({ 'cache-aware': [8, 160], 'engine-load': [9, 91], residency: [30, 140] }),
      same,
    );
    const agreement = agreementOf(simulated, real);
    expect(agreement.contradictions).toMatchObject([
      { metric: 'batchRunsPerMinute', policies: ['cache-aware', 'residency'] },
    ]);
    expect(rankingBars('flood', agreement).map(isMet)).toEqual([true, false]);
  });

  it('asks no order of what is a tie in either of them', () => {
    const real = rankedOf(reportOf({ 'cache-aware': [8, 95], 'engine-load': [8.2, 97] }), same);
    expect(agreementOf(simulated, real).ordered).toEqual([]);
  });

  it('looks only at medians, and at no metric that was not measured on every seed', () => {
    const real = rankedOf(reportOf({ 'cache-aware': [8, 95], residency: [30, 140] }, 10), same);
    expect(agreementOf(simulated, real).contradictions).toEqual([]);
    expect(real.get('residency')?.get('interactiveRunsPerMinute')).toBe(30);
    expect(real.get('residency')?.has('interactiveP50Ms')).toBe(false);
  });

  it('leaves out arms that stand for no policy', () => {
    const real = rankedOf(reportOf({ programs: [1, 1], residency: [30, 140] }), (arm) =>
      arm === 'programs' ? null : arm,
    );
    expect([...real.keys()]).toEqual(['residency']);
  });

  it('is missed, not met, when nothing was compared', () => {
    expect(rankingBars('flood', null).map(isMet)).toEqual([false, false]);
    const alone = agreementOf(simulated, rankedOf(reportOf({ residency: [30, 140] }), same));
    expect(rankingBars('flood', alone).map(barLine)[0]).toBe(
      'bar flood pairs of policies with an order in both: 0 (>= 3) missed',
    );
  });

  it('refuses a file that is no such result', () => {
    expect(() => rankedOf({ details: {} }, same)).toThrow('comparisons');
  });
});
