import { describe, expect, it } from 'vitest';
import { bytes, cachedShare, count, duration, lasted, plural } from '../../web/model/words.ts';

describe('numbers on the page', () => {
  it.each([
    [-3, '0 ms'],
    [0, '0 ms'],
    [999.4, '999 ms'],
    [1_000, '1.0 s'],
    [59_940, '59.9 s'],
    [59_960, '1 min 00 s'],
    [125_000, '2 min 05 s'],
    [3_599_600, '1 h 00 min'],
    [86_400_000, '1 d 0 h'],
    [360_000_000, '4 d 4 h'],
  ])('%d ms reads %s', (ms, words) => {
    expect(duration(ms)).toBe(words);
  });

  it.each([
    [0, '0'],
    [999, '999'],
    [1_000, '1k'],
    [12_345, '12.3k'],
    [999_499, '999k'],
    [999_500, '1M'],
    [4_560_000, '4.56M'],
    [7_000_000_000, '7G'],
    [2_500_000_000_000, '2.5T'],
  ])('%d reads %s', (value, words) => {
    expect(count(value)).toBe(words);
  });

  it('sizes, plurals and shares read as people write them', () => {
    expect([bytes(12), bytes(2_048), bytes(3_145_728)]).toEqual(['12 B', '2.0 KiB', '3.0 MiB']);
    expect([plural(1, 'run'), plural(2, 'run'), plural(0, 'proxy', 'proxies')]).toEqual([
      '1 run',
      '2 runs',
      '0 proxies',
    ]);
    expect(cachedShare({ promptTokens: 0, cachedTokens: 0 })).toBeNull();
    expect(cachedShare({ promptTokens: 3, cachedTokens: 2 })).toBe(67);
  });

  it('a run lasts until its end, and one at work until now', () => {
    const startedAt = '2026-01-01T00:00:00.000Z';
    const nowMs = Date.parse(startedAt) + 9_000;
    expect(lasted({ startedAt, endedAt: '2026-01-01T00:00:02.500Z' }, nowMs)).toBe(2_500);
    expect(lasted({ startedAt, endedAt: null }, nowMs)).toBe(9_000);
    expect(lasted({ startedAt, endedAt: null }, nowMs - 60_000)).toBe(0);
  });
});
