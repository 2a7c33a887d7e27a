import { describe, expect, it } from 'vitest';
import { isMet } from '../../../bench/bars.ts';
import { distanceOf, measuredOf } from '../../../bench/overhead-outside/agreement.ts';
import type { OutsideResult } from '../../../bench/overhead-outside/measure.ts';
import { addedMs, outsideBars, outsideTable } from '../../../bench/overhead-outside/summary.ts';

const least = { share: 0.03, absolute: 0 };

describe('agreement of two load generators', () => {
  it('is a distance of at most both errors together', () => {
    const ours = measuredOf({ median: 1, lowest: 0.9, highest: 1.1 }, least);
    const theirs = measuredOf({ median: 1.3, lowest: 1.2, highest: 1.4 }, least);
    expect(distanceOf(ours, theirs)).toBeCloseTo(1.5);
    expect(distanceOf(ours, ours)).toBe(0);
  });

  it('never takes repeats that fell together by chance for no error at all', () => {
    expect(measuredOf({ median: 1_000, lowest: 1_000, highest: 1_000 }, least)).toEqual({
      value: 1_000,
      error: 30,
    });
  });

  it('is unknown where one of them has nothing', () => {
    expect(distanceOf(measuredOf({ median: null, lowest: null, highest: null }, least), null)).toBeNull();
  });
});

function resultWith(ours: number, wrk: number): OutsideResult {
  const window = (generator: 'ours' | 'wrk', arm: 'direct' | 'fermata', repeat: number, p50Ms: number) => ({
    generator,
    arm,
    repeat,
    requests: 200,
    failed: 0,
    p50Ms,
    p99Ms: p50Ms * 2,
    requestsPerSecond: 1_000 / p50Ms,
  });
  const windows = [0, 1, 2].flatMap((repeat) => [
    window('ours', 'direct', repeat, 0.5),
    window('ours', 'fermata', repeat, 0.5 + ours + repeat / 100),
    window('wrk', 'direct', repeat, 0.2),
    window('wrk', 'fermata', repeat, 0.2 + wrk),
  ]);
  return { paced: windows, closed: windows };
}

describe('what an outside load generator says', () => {
  it('is compared over each one’s own direct calls', () => {
    const result = resultWith(1, 1.02);
    expect(addedMs(result, 'ours', 'p50Ms').median).toBeCloseTo(1.01);
    expect(addedMs(result, 'wrk', 'p50Ms').median).toBeCloseTo(1.02);
    const [added] = outsideBars(result);
    expect(added !== undefined && isMet(added)).toBe(true);
    expect(outsideTable(result, '4.1.0')).toMatch(/^wrk 4\.1\.0/m);
  });

  it('misses its bar when it finds another overhead', () => {
    const missed = outsideBars(resultWith(1, 2)).filter((one) => !isMet(one));
    expect(missed.map(({ name }) => name)).toContain(
      'overhead-outside first byte added p50, apart over both errors',
    );
  });
});
