import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addedOver, quantilesOf, ratioOver, spreadText } from '../../../bench/overhead/statistics.ts';

const nothing = { median: null, lowest: null, highest: null };

describe('the quantiles of a window', () => {
  it('are values that were measured, by the nearest rank', () => {
    const samples = Array.from({ length: 200 }, (_, index) => 200 - index);
    expect(quantilesOf(samples)).toEqual({ count: 200, p50: 100, p90: 180, p99: 198, max: 200 });
  });

  it('are nothing where nothing was measured', () => {
    expect(quantilesOf([])).toEqual({ count: 0, p50: null, p90: null, p99: null, max: null });
  });
});

describe('what a gateway adds', () => {
  it('is the median over the repeats of the differences of the same quantile', () => {
    const direct = [quantilesOf([1, 2, 30]), quantilesOf([2, 3, 40]), quantilesOf([1, 1, 20])];
    const through = [quantilesOf([2, 4, 31]), quantilesOf([2, 4, 50]), quantilesOf([9, 9, 21])];
    expect(addedOver(direct, through, 'p50')).toEqual({ median: 2, lowest: 1, highest: 8 });
    expect(addedOver(direct, through, 'p99')).toEqual({ median: 1, lowest: 1, highest: 10 });
  });

  it('is what was added when every request is slower by the same', () => {
    const times = fc.array(fc.double({ min: 0, max: 1_000, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(times, fc.double({ min: 0, max: 100, noNaN: true }), (samples, cost) => {
        const direct = [quantilesOf(samples)];
        const through = [quantilesOf(samples.map((sample) => sample + cost))];
        for (const name of ['p50', 'p90', 'p99'] as const) {
          expect(addedOver(direct, through, name).median).toBeCloseTo(cost, 6);
        }
      }),
    );
  });

  it('is unknown when a repeat is missing or was empty on one side', () => {
    const window = quantilesOf([1]);
    expect(addedOver([window, window], [window], 'p50')).toEqual(nothing);
    expect(addedOver([window], [quantilesOf([])], 'p50')).toEqual(nothing);
    expect(addedOver([], [], 'p50')).toEqual(nothing);
  });
});

describe('a comparison of rates', () => {
  it('is made repeat by repeat', () => {
    expect(ratioOver([10, 30, 20], [10, 10, 40])).toEqual({ median: 1, lowest: 0.5, highest: 3 });
  });

  it('does not call it won when the other arm served nothing or was not run', () => {
    expect(ratioOver([10, 10], [5, 0])).toEqual(nothing);
    expect(ratioOver([10, 10], [])).toEqual(nothing);
  });
});

describe('a spread in a table', () => {
  it('shows median, lowest and highest, or that there is nothing', () => {
    expect(spreadText({ median: 1.256, lowest: -0.1, highest: 2 }, 2)).toBe('1.26 (-0.10..2.00)');
    expect(spreadText(nothing, 2)).toBe('-');
  });
});
