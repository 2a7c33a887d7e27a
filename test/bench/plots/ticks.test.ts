import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeOf, rangeOf, ticksOf, tickText } from '../../../bench/plots/ticks.ts';

const values = fc.array(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 20 });

describe('the range of an axis', () => {
  it.each([
    [[3, 17], 'linear', true, 0, 20],
    [[103, 117], 'linear', false, 100, 120],
    [[0], 'linear', true, 0, 0.2],
    [[0.8, 430], 'log', true, 0.5, 500],
    [[1], 'log', true, 1, 10],
    [[], 'linear', true, 0, 1],
  ] as const)('of %j on a %s axis (from zero: %s) goes from %d to %d', (given, scale, fromZero, from, to) => {
    const range = rangeOf(given, scale, fromZero);
    expect(range.from).toBeCloseTo(from);
    expect(range.to).toBeCloseTo(to);
  });

  it('holds every value, and has two ticks at least, all within it and rising', () => {
    fc.assert(
      fc.property(values, fc.constantFrom('linear', 'log'), fc.boolean(), (given, scale, fromZero) => {
        const range = rangeOf(given, scale, fromZero);
        for (const value of given) {
          const place = placeOf(value, range) ?? Number.NaN;
          expect(place).toBeGreaterThanOrEqual(-1e-9);
          expect(place).toBeLessThanOrEqual(1 + 1e-9);
        }
        const ticks = ticksOf(range);
        expect(ticks.length).toBeGreaterThanOrEqual(2);
        expect(ticks.length).toBeLessThanOrEqual(20);
        expect(ticks.toSorted((a, b) => a - b)).toEqual(ticks);
        for (const tick of ticks)
          expect(Math.abs((placeOf(tick, range) ?? 9) - 0.5)).toBeLessThan(0.5 + 1e-6);
      }),
    );
  });

  it('has no place for what a logarithm does not know', () => {
    const range = rangeOf([1, 10], 'log', true);
    expect([0, -1, Number.NaN].map((value) => placeOf(value, range))).toEqual([null, null, null]);
  });
});

it('writes ticks as people write numbers', () => {
  expect([0.05, 300, 1_200_000].map(tickText)).toEqual(['0.05', '300', '1,200,000']);
});
