import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../contracts/ids.ts';
import { Fault } from '../../../proxy/faults.ts';
import { RateLimiter } from '../../../proxy/rate-limits/rate-limiter.ts';

const me = 'me' as Caller;

function limiter(maxCallers = 100): {
  limiter: RateLimiter;
  refused: string[];
  clock: { nowMs: number };
} {
  const clock = { nowMs: 0 };
  const refused: string[] = [];
  return {
    limiter: new RateLimiter({
      maxCallers,
      shared: null,
      nowMs: () => clock.nowMs,
      onRefused: (limit) => refused.push(limit),
    }),
    refused,
    clock,
  };
}

async function faultOf(taking: Promise<unknown>): Promise<Fault> {
  const fault: unknown = await taking.then(
    () => null,
    (error: unknown) => error,
  );
  if (fault instanceof Fault) return fault;
  throw new Error('it was not refused');
}

describe('a refusal', () => {
  it('says which limit, its value and when it is free again, in whole seconds rounded up', async () => {
    const { limiter: limits, refused, clock } = limiter();
    await limits.take(me, { requestsPerMinute: 9 }, 0);
    for (let sent = 1; sent < 9; sent++) await limits.take(me, { requestsPerMinute: 9 }, 0);
    clock.nowMs = 100;
    const fault = await faultOf(limits.take(me, { requestsPerMinute: 9 }, 0));
    expect(fault.code).toBe('rate_limited');
    expect(fault.retryAfterSeconds).toBe(7);
    expect(fault.message).toBe(
      "caller 'me' has used up its limit of 9 requests a minute (requestsPerMinute); it is free again in 7 s",
    );
    expect(refused).toEqual(['requestsPerMinute']);
    clock.nowMs += 7_000;
    await limits.take(me, { requestsPerMinute: 9 }, 0);
  });

  it('of a request that is larger than its whole limit says that it can never pass, and is no 429', async () => {
    const { limiter: limits, refused } = limiter();
    const fault = await faultOf(limits.take(me, { inputTokensPerMinute: 100 }, 101));
    expect(fault.code).toBe('invalid_request');
    expect(fault.retryAfterSeconds).toBeNull();
    expect(fault.message).toContain('about 101 input tokens');
    expect(fault.message).toContain('100 input tokens a minute');
    expect(fault.message).toContain('can never pass');
    expect(refused).toEqual(['inputTokensPerMinute']);
    await limits.take(me, { inputTokensPerMinute: 100 }, 100);
  });
});

describe('what a turn took', () => {
  const limits = { inputTokensPerMinute: 100, outputTokensPerMinute: 60 };

  it('comes back when no engine worked on it, once', async () => {
    const { limiter: own } = limiter();
    const charge = await own.take(me, limits, 100);
    charge.note(null);
    charge.settle();
    charge.settle();
    await own.take(me, limits, 100);
    expect((await faultOf(own.take(me, limits, 1))).code).toBe('rate_limited');
  });

  it('is put right by the last that was noted', async () => {
    const { limiter: own } = limiter();
    const charge = await own.take(me, limits, 100);
    charge.note(null);
    charge.note({ promptTokens: 70, completionTokens: 60 });
    charge.settle();
    const fault = await faultOf(own.take(me, { ...limits, outputTokensPerMinute: 59 }, 1));
    expect(fault.message).toContain('59 output tokens');
    await own.take(me, { inputTokensPerMinute: 100 }, 30);
    await faultOf(own.take(me, { inputTokensPerMinute: 100 }, 1));
  });

  it('is told in headers in the manner of OpenAI, for the limits there are', async () => {
    const { limiter: own } = limiter();
    await own.take(me, limits, 20);
    const { headers } = await own.take(me, limits, 5);
    expect(headers).toEqual([
      'x-ratelimit-limit-input-tokens',
      '100',
      'x-ratelimit-remaining-input-tokens',
      '75',
      'x-ratelimit-reset-input-tokens',
      '15s',
      'x-ratelimit-limit-output-tokens',
      '60',
      'x-ratelimit-remaining-output-tokens',
      '60',
      'x-ratelimit-reset-output-tokens',
      '0ms',
    ]);
  });
});

describe('callers', () => {
  it('do not use up each other', async () => {
    const { limiter: own } = limiter();
    await own.take(me, { requestsPerMinute: 1 }, 0);
    await own.take('you' as Caller, { requestsPerMinute: 1 }, 0);
    const fault = await faultOf(own.take(me, { requestsPerMinute: 1 }, 0));
    expect(fault.message).toContain("caller 'me'");
  });

  it('are counted up to a bound; above it the one idle longest begins anew', async () => {
    const { limiter: own } = limiter(3);
    const take = async (name: string): Promise<unknown> =>
      await own.take(name as Caller, { requestsPerMinute: 2 }, 0);
    for (const name of ['a', 'b', 'c', 'a', 'd']) await take(name);
    expect(own.callers).toBe(3);
    await faultOf(own.take('a' as Caller, { requestsPerMinute: 2 }, 0));
    await take('b');
    await take('b');
  });

  it('that have recovered are forgotten', async () => {
    const { limiter: own, clock } = limiter();
    await own.take(me, { requestsPerMinute: 2 }, 0);
    clock.nowMs = 590_000;
    await own.take('you' as Caller, { requestsPerMinute: 2 }, 0);
    own.sweep(599_999);
    expect(own.callers).toBe(2);
    own.sweep(600_000);
    expect(own.callers).toBe(1);
  });
});
