import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { longestRetryAfterMs, retryAfterMs } from '../../../activities/model-turn/retry-after.ts';

const nowMs = Date.parse('2026-03-01T12:00:00.250Z');

describe('Retry-After (G01)', () => {
  it.each<[string | undefined, string | undefined, number | null]>([
    ['120', undefined, 120_000],
    ['0', undefined, 0],
    ['1.5', undefined, 1_500],
    ['Sun, 01 Mar 2026 12:00:30 GMT', undefined, 29_750],
    ['Sun, 01 Mar 2026 11:59:00 GMT', undefined, 0],
    ['soon', undefined, null],
    ['Wed, 99 Foo 2026 12:00:00 GMT', undefined, null],
    ['-5', undefined, null],
    ['NaN', undefined, null],
    ['Infinity', undefined, null],
    ['1e9', undefined, null],
    ['', undefined, null],
    [undefined, undefined, null],
    ['1', '250', 250],
    ['2', 'abc', 2_000],
    ['86400', undefined, longestRetryAfterMs],
  ])('%s, in ms %s', (retryAfter, inMs, expected) => {
    expect(retryAfterMs({ retryAfter, retryAfterMs: inMs }, nowMs)).toBe(expected);
  });

  it('is a finite number of milliseconds, never negative, or nothing, for any text', () => {
    const text = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(text, text, (retryAfter, inMs) => {
        const delayMs = retryAfterMs({ retryAfter, retryAfterMs: inMs }, nowMs) ?? 0;
        expect(delayMs).toBeGreaterThanOrEqual(0);
        expect(delayMs).toBeLessThanOrEqual(longestRetryAfterMs);
      }),
    );
  });
});
