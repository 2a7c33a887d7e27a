import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RateLimits } from '../../../contracts/config-file.ts';
import { adjust, emptyBudget, limitNames, maxUsedMinutes, take } from '../../../proxy/rate-limits/budget.ts';

const request = (promptTokens: number): { promptTokens: number } => ({ promptTokens });

describe('a limit of requests', () => {
  it('lets that many through at once, then one whenever there is room for one', () => {
    const budget = emptyBudget(0);
    const limits = { requestsPerMinute: 6 };
    for (let sent = 0; sent < 6; sent++) expect(take(budget, limits, request(1), 0).refusedBy).toBeNull();
    expect(take(budget, limits, request(1), 0)).toMatchObject({
      refusedBy: 'requestsPerMinute',
      waitMs: 10_000,
    });
    expect(take(budget, limits, request(1), 9_999).refusedBy).toBe('requestsPerMinute');
    expect(take(budget, limits, request(1), 10_000).refusedBy).toBeNull();
    expect(take(budget, limits, request(1), 10_000).refusedBy).toBe('requestsPerMinute');
  });
});

describe('a limit of input tokens', () => {
  it('takes the estimate at once, and what was estimated too much comes back', () => {
    const budget = emptyBudget(0);
    const limits = { inputTokensPerMinute: 100 };
    expect(take(budget, limits, request(80), 0).refusedBy).toBeNull();
    expect(take(budget, limits, request(30), 0)).toMatchObject({
      refusedBy: 'inputTokensPerMinute',
      waitMs: 6_000,
    });
    adjust(budget, limits, -20, 0, 0);
    expect(take(budget, limits, request(30), 0).refusedBy).toBeNull();
  });

  it('takes what was estimated too little afterwards', () => {
    const budget = emptyBudget(0);
    const limits = { inputTokensPerMinute: 100 };
    take(budget, limits, request(10), 0);
    adjust(budget, limits, 90, 0, 0);
    expect(take(budget, limits, request(1), 0).refusedBy).toBe('inputTokensPerMinute');
  });
});

describe('a limit of output tokens', () => {
  it('lets a request through while there is any room, and refuses the one after it was used up', () => {
    const budget = emptyBudget(0);
    const limits = { outputTokensPerMinute: 60 };
    expect(take(budget, limits, request(0), 0).refusedBy).toBeNull();
    adjust(budget, limits, 0, 59, 0);
    expect(take(budget, limits, request(0), 0).refusedBy).toBeNull();
    adjust(budget, limits, 0, 11, 0);
    expect(take(budget, limits, request(0), 0)).toMatchObject({
      refusedBy: 'outputTokensPerMinute',
      waitMs: 11_000,
    });
    expect(take(budget, limits, request(0), 11_000).refusedBy).toBeNull();
  });

  it('shuts nobody out for longer than the bound, whatever an engine reports', () => {
    const budget = emptyBudget(0);
    const limits = { outputTokensPerMinute: 60 };
    adjust(budget, limits, 0, 1e12, 0);
    expect(take(budget, limits, request(0), 0).waitMs).toBeLessThanOrEqual(maxUsedMinutes * 60_000);
  });
});

it('a refused request takes nothing of any limit', () => {
  const budget = emptyBudget(0);
  const limits = { requestsPerMinute: 10, inputTokensPerMinute: 100, outputTokensPerMinute: 10 };
  take(budget, limits, request(95), 0);
  for (let tried = 0; tried < 50; tried++)
    expect(take(budget, limits, request(6), 0).refusedBy).not.toBeNull();
  expect(take(budget, limits, request(5), 0).used).toEqual({
    requestsPerMinute: 2,
    inputTokensPerMinute: 100,
    outputTokensPerMinute: 0,
  });
});

it('names of several limits without room the one that takes longest', () => {
  const budget = emptyBudget(0);
  const limits = { requestsPerMinute: 60, inputTokensPerMinute: 60, outputTokensPerMinute: 60 };
  for (let sent = 0; sent < 60; sent++) take(budget, limits, request(1), 0);
  adjust(budget, limits, 0, 100, 0);
  expect(take(budget, limits, request(1), 0)).toMatchObject({
    refusedBy: 'outputTokensPerMinute',
    waitMs: 41_000,
  });
});

it('a limit that is lowered or raised holds at once for what was used before', () => {
  const budget = emptyBudget(0);
  for (let sent = 0; sent < 10; sent++) take(budget, { requestsPerMinute: 10 }, request(0), 0);
  expect(take(budget, { requestsPerMinute: 20 }, request(0), 0).refusedBy).toBeNull();
  expect(take(budget, { requestsPerMinute: 5 }, request(0), 0)).toMatchObject({ waitMs: 84_000 });
  expect(take(budget, {}, request(0), 0).refusedBy).toBeNull();
});

it('a clock that goes back gives nothing', () => {
  const budget = emptyBudget(1_000);
  take(budget, { requestsPerMinute: 1 }, request(0), 1_000);
  expect(take(budget, { requestsPerMinute: 1 }, request(0), 0).refusedBy).toBe('requestsPerMinute');
});

const limitArbitrary = fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined });
const stepArbitrary = fc.record({
  waitMs: fc.integer({ min: 0, max: 30_000 }),
  promptTokens: fc.integer({ min: 0, max: 250 }),
});

it('over any time, no more is taken than one minute worth and what has recovered since', () => {
  fc.assert(
    fc.property(
      fc.tuple(limitArbitrary, limitArbitrary, limitArbitrary),
      fc.array(stepArbitrary, { maxLength: 60 }),
      ([requests, input, output], steps) => {
        const limits = Object.fromEntries(
          limitNames.map((name, index) => [name, [requests, input, output][index]]),
        ) as RateLimits;
        const budget = emptyBudget(0);
        let nowMs = 0;
        const taken = { requestsPerMinute: 0, inputTokensPerMinute: 0, outputTokensPerMinute: 0 };
        for (const step of steps) {
          nowMs += step.waitMs;
          const before = { ...budget.used };
          const { refusedBy, waitMs } = take(budget, limits, step, nowMs);
          const passes = refusedBy === null;
          taken.requestsPerMinute += passes ? 1 : 0;
          taken.inputTokensPerMinute += passes ? step.promptTokens : 0;
          expect(waitMs > 0).toBe(!passes);
          for (const name of limitNames) {
            expect(budget.used[name]).toBeGreaterThanOrEqual(0);
            expect(passes || budget.used[name] <= before[name]).toBe(true);
            const most = (limits[name] ?? Infinity) * (1 + nowMs / 60_000);
            expect(taken[name]).toBeLessThanOrEqual(most + 1e-6);
          }
        }
      },
    ),
    { numRuns: 300 },
  );
});

it('the wait that a refusal names is exactly what it takes', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 500 }),
      fc.integer({ min: 1, max: 60_000 }),
      (limit, promptTokens, usedTokens) => {
        fc.pre(promptTokens <= limit);
        const limits = { inputTokensPerMinute: limit };
        const budget = emptyBudget(0);
        adjust(budget, limits, usedTokens, 0, 0);
        const { waitMs } = take(budget, limits, { promptTokens }, 0);
        fc.pre(waitMs > 1);
        expect(take(budget, limits, { promptTokens }, waitMs - 1).refusedBy).toBe('inputTokensPerMinute');
        expect(take(budget, limits, { promptTokens }, waitMs + 0.001).refusedBy).toBeNull();
      },
    ),
  );
});
