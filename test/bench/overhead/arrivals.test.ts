import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arrivalsMs } from '../../../bench/overhead/arrivals.ts';

const rates = fc.integer({ min: 1, max: 1_000 });
const windows = fc.integer({ min: 1, max: 5_000 });

describe('the arrivals of an open loop', () => {
  it('have the exact rate in every part of the window, one in each slot', () => {
    fc.assert(
      fc.property(rates, windows, fc.integer(), (rate, windowMs, seed) => {
        const arrivals = arrivalsMs(rate, windowMs, seed);
        expect(arrivals).toHaveLength(Math.round((rate * windowMs) / 1_000));
        const strays = arrivals.filter((atMs, index) => Math.floor((atMs * rate) / 1_000 + 1e-9) !== index);
        expect(strays).toEqual([]);
      }),
    );
  });

  it('are the same for every arm that gets the same seed, and others with another', () => {
    expect(arrivalsMs(200, 1_000, 7)).toEqual(arrivalsMs(200, 1_000, 7));
    expect(arrivalsMs(200, 1_000, 7)).not.toEqual(arrivalsMs(200, 1_000, 8));
  });

  it('keep no step with a timer: their places within the slots are spread over all of it', () => {
    const places = arrivalsMs(200, 10_000, 3).map((atMs) => (atMs % 5) / 5);
    for (const from of [0, 0.25, 0.5, 0.75]) {
      const share = places.filter((place) => place >= from && place < from + 0.25).length / places.length;
      expect(share).toBeGreaterThan(0.2);
      expect(share).toBeLessThan(0.3);
    }
  });

  it.each([
    [0, 1_000],
    [-1, 1_000],
    [Number.NaN, 1_000],
    [200, 0],
  ])('refuses %d requests/s for %d ms', (rate, windowMs) => {
    expect(() => arrivalsMs(rate, windowMs, 1)).toThrow(RangeError);
  });
});
