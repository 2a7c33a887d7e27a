import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { RelayResult } from '../../proxy/forward/relay.ts';
import { firstAttempt, nextAttempt, type Circumstances } from '../../proxy/next-attempt.ts';
import { nothingRead } from '../../proxy/reply/reply-facts.ts';
import { caseFile } from '../case-file.ts';

const now: Circumstances = {
  pinned: false,
  otherReplica: true,
  queueFullRetries: 3,
  queueFullDelayMs: 1_000,
  queueFullMaxDelayMs: 10_000,
  nowMs: Date.UTC(2026, 0, 1),
};

const unreachable: RelayResult = { kind: 'unreachable', message: 'refused' };
const kept = (...headers: string[]): RelayResult => ({
  kind: 'kept',
  reply: { status: 503, headers, body: Buffer.alloc(0) },
});

describe('an engine that failed before its first byte', () => {
  it('is followed by one more try elsewhere when the run may move', () => {
    const second = nextAttempt(unreachable, firstAttempt, now);
    expect(second).toEqual({ number: 2, moved: true, queueFull: 0, delayMs: 0 });
    expect(second && nextAttempt(unreachable, second, now)).toBeNull();
  });

  it.each([
    ['the run is pinned', { pinned: true }],
    ['no other healthy replica serves the model', { otherReplica: false }],
  ])('is not followed by another try when %s', (_, circumstances) => {
    expect(nextAttempt(unreachable, firstAttempt, { ...now, ...circumstances })).toBeNull();
  });
});

describe('a full queue of the engine', () => {
  it('has the turn held again three times, then the client sees it', () => {
    let attempt: ReturnType<typeof nextAttempt> = firstAttempt;
    const numbers: number[] = [];
    while (attempt !== null) {
      numbers.push(attempt.number);
      attempt = nextAttempt(kept(), attempt, now);
    }
    expect(numbers).toEqual([1, 2, 3, 4]);
  });

  it.each([
    [kept(), 1_000],
    [kept('Retry-After', '2'), 2_000],
    [kept('retry-after', '0'), 0],
    [kept('retry-after', '86400'), 10_000],
    [kept('retry-after', 'soon'), 1_000],
  ])('waits as long as the engine asks, within a bound: %j', (result, delayMs) => {
    expect(nextAttempt(result, firstAttempt, now)?.delayMs).toBe(delayMs);
  });
});

it.each<RelayResult>([
  { kind: 'passed', status: 429, facts: nothingRead, errorText: '' },
  { kind: 'idle' },
  { kind: 'broken', status: 200, facts: nothingRead, message: 'x' },
  { kind: 'client-gone', status: null, facts: nothingRead },
  { kind: 'client-stalled', status: 200, facts: nothingRead },
  { kind: 'aborted', reason: 'run_ended', status: null, facts: nothingRead },
])('nothing follows $kind', (result) => {
  expect(nextAttempt(result, firstAttempt, now)).toBeNull();
});

const g01 = caseFile('G01');
const g01Given = z
  .object({ now: z.iso.datetime(), rows: z.array(z.record(z.string(), z.string())) })
  .loose()
  .parse(g01.given);

describe(`${g01.id} ${g01.title}`, () => {
  it.each(g01Given.rows)('the wait of a turn before it is held again after %j', (headers) => {
    const clock = { ...now, nowMs: Date.parse(g01Given.now) };
    const next = nextAttempt(kept(...Object.entries(headers).flat()), firstAttempt, clock);
    expect(Number.isFinite(next?.delayMs)).toBe(true);
    expect(next?.delayMs).toBeGreaterThanOrEqual(0);
    expect(next?.delayMs).toBeLessThanOrEqual(now.queueFullMaxDelayMs);
  });
});

const g02 = caseFile('G02');
const mostRequests = z
  .object({ engine_requests_per_logical_call_max: z.number(), gaps_grow: z.literal(true) })
  .loose()
  .parse(g02.expect).engine_requests_per_logical_call_max;

describe(`${g02.id} ${g02.title}`, () => {
  it('no sequence of failures makes more attempts, and the waits between them grow', () => {
    const failure = fc.oneof(
      fc.constant(unreachable),
      fc.constant(kept()),
      fc.constantFrom('0', '0.2', '1', '3', '-1', 'soon').map((value) => kept('retry-after', value)),
    );
    fc.assert(
      fc.property(fc.array(failure, { minLength: 12, maxLength: 12 }), fc.boolean(), (failures, pinned) => {
        let attempts = 0;
        let attempt: ReturnType<typeof nextAttempt> = firstAttempt;
        for (const result of failures) {
          if (attempt === null) break;
          attempts = attempt.number;
          attempt = nextAttempt(result, attempt, { ...now, pinned });
        }
        expect(attempt).toBeNull();
        expect(attempts).toBeLessThanOrEqual(mostRequests);
      }),
    );
  });

  it.each([[[]], [['retry-after', '0']], [['retry-after', '1']], [['retry-after', '2.5']]])(
    'waits longer each time when the engine always says %j',
    (headers) => {
      const delays: number[] = [];
      let attempt: ReturnType<typeof nextAttempt> = firstAttempt;
      while (attempt !== null) {
        attempt = nextAttempt(kept(...headers), attempt, now);
        if (attempt !== null) delays.push(attempt.delayMs);
      }
      expect(delays).toHaveLength(now.queueFullRetries);
      expect(delays).toEqual(delays.toSorted((a, b) => a - b));
      expect(new Set(delays).size).toBe(delays.length);
    },
  );
});
