import { describe, expect, it } from 'vitest';
import type { RelayResult } from '../../proxy/forward/relay.ts';
import { firstAttempt, nextAttempt, retryAfterMs, type Circumstances } from '../../proxy/next-attempt.ts';
import { nothingRead } from '../../proxy/reply/reply-facts.ts';

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
  { kind: 'passed', status: 429, facts: nothingRead },
  { kind: 'idle' },
  { kind: 'broken', status: 200, facts: nothingRead, message: 'x' },
  { kind: 'client-gone', status: null, facts: nothingRead },
  { kind: 'client-stalled', status: 200, facts: nothingRead },
  { kind: 'aborted', reason: 'run_ended', status: null, facts: nothingRead },
])('nothing follows $kind', (result) => {
  expect(nextAttempt(result, firstAttempt, now)).toBeNull();
});

it.each([
  ['120', 120_000],
  ['1.5', 1_500],
  [' 3 ', 3_000],
  ['Thu, 01 Jan 2026 00:00:05 GMT', 5_000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['-1', null],
  ['NaN', null],
  ['', null],
  ['1e9', null],
])('a Retry-After of %j asks for %j ms', (value, ms) => {
  expect(retryAfterMs(['content-type', 'x', 'Retry-After', value], now.nowMs)).toBe(ms);
});
