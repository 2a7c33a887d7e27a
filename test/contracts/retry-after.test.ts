import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { longestRetryAfterMs, retryAfterMs } from '../../contracts/retry-after.ts';
import { caseFile } from '../case-file.ts';

const g01 = caseFile('G01');
const given = z
  .object({
    now: z.iso.datetime(),
    cap_ms: z.number(),
    rows: z.array(
      z.strictObject({ 'retry-after': z.string().optional(), 'retry-after-ms': z.string().optional() }),
    ),
  })
  .loose()
  .parse(g01.given);
const expected = z
  .object({
    rows: z.array(
      z.strictObject({
        delay_ms_min: z.number().optional(),
        delay_ms_max: z.number().optional(),
        fallback: z.literal(true).optional(),
        any_of: z.array(z.string()).optional(),
      }),
    ),
  })
  .loose()
  .parse(g01.expect).rows;
const nowMs = Date.parse(given.now);

describe(`${g01.id} ${g01.title}`, () => {
  const rows = given.rows.map((row, index) => {
    const wanted = expected[index] ?? {};
    const cappedMs = wanted.any_of === undefined ? undefined : given.cap_ms;
    return {
      row,
      fallback: wanted.fallback === true,
      minMs: cappedMs ?? wanted.delay_ms_min ?? 0,
      maxMs: cappedMs ?? wanted.delay_ms_max ?? given.cap_ms,
    };
  });
  const ask = (row: (typeof given.rows)[number]): number | null =>
    retryAfterMs({ retryAfter: row['retry-after'], retryAfterMs: row['retry-after-ms'] }, nowMs);

  it.each(rows.filter(({ fallback }) => fallback))('$row says nothing usable', ({ row }) => {
    expect(ask(row)).toBeNull();
  });

  it.each(rows.filter(({ fallback }) => !fallback))(
    '$row waits from $minMs to $maxMs ms',
    ({ row, minMs, maxMs }) => {
      const delayMs = ask(row);
      expect(delayMs).toBeGreaterThanOrEqual(minMs);
      expect(delayMs).toBeLessThanOrEqual(maxMs);
    },
  );

  it('caps at the same time as the case', () => {
    expect(longestRetryAfterMs).toBe(given.cap_ms);
  });

  it('is a finite number of milliseconds, never negative, or nothing, for any text', () => {
    const text = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.constantFrom('1e9', '0x10', '+5', '1,5', ' 3 ', '٣', '9'.repeat(400)),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(text, text, (retryAfter, inMs) => {
        const delayMs = retryAfterMs({ retryAfter, retryAfterMs: inMs }, nowMs);
        expect(delayMs ?? 0).toBeGreaterThanOrEqual(0);
        expect(delayMs ?? 0).toBeLessThanOrEqual(longestRetryAfterMs);
      }),
    );
  });

  it('waits for a date to the millisecond and never less, whatever the time of day', () => {
    const second = fc.integer({ min: 0, max: 119 });
    fc.assert(
      fc.property(second, fc.integer({ min: 0, max: 999 }), (seconds, milliseconds) => {
        const date = new Date(Date.UTC(2026, 2, 1, 12, 0, seconds));
        const clockMs = Date.UTC(2026, 2, 1, 12, 0, 0, milliseconds);
        const delayMs = retryAfterMs({ retryAfter: date.toUTCString() }, clockMs);
        expect(delayMs).toBe(Math.max(0, date.getTime() - clockMs));
      }),
    );
  });
});
