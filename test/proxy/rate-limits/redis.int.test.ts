/** Two proxies that count in one real Redis, which is killed, frozen and started again under them. */
import * as fc from 'fast-check';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../contracts/ids.ts';
import type { ProxyLimits } from '../../../proxy/limits.ts';
import { limitNames } from '../../../proxy/rate-limits/budget.ts';
import { LocalBudgets } from '../../../proxy/rate-limits/local-budgets.ts';
import { connectSharedBudgets } from '../../../proxy/rate-limits/shared-budgets.ts';
import { startRedis, type RedisServer } from '../redis-server.ts';
import { closeAfterTest, startProxy, startStack, until, untilGauge } from '../stack.ts';
import { answerWith, ask, promptOf, statuses } from './limited-stack.ts';

type Proxy = { readonly port: number; readonly url: string };
type Log = readonly Record<string, unknown>[];

const patient = { timeout: 10_000 };
/** So that a busy machine is not taken for a Redis that is away. */
const patientLimits = { redisAnswerMs: 10_000 };

async function twoProxies(
  rateLimits: Record<string, Record<string, number>>,
  usage: readonly [number, number] = [5, 1],
  limits: Partial<ProxyLimits> = patientLimits,
): Promise<{ redis: RedisServer; a: Proxy; b: Proxy; logs: Log[] }> {
  const redis = await startRedis();
  const { proxy: a, engine, scheduler, log } = await startStack({ rateLimits, redisUrl: redis.url, limits });
  const second = await startProxy(scheduler.url, { redisUrl: redis.url, limits });
  answerWith(engine, ...usage);
  await until(() => scheduler.of('resync').length === 2, 'both proxies are linked');
  for (const proxy of [a, second.proxy]) await untilGauge(proxy, 'fermata_proxy_redis_up', 1);
  return { redis, a, b: second.proxy, logs: [log, second.log] };
}

async function readiness(proxy: Proxy): Promise<unknown> {
  const response = await fetch(`${proxy.url}/readyz`);
  return { status: response.status, body: await response.json() };
}

describe('two proxies and one Redis', () => {
  it('share one count of requests', async () => {
    const { a, b } = await twoProxies({ farm: { requestsPerMinute: 4 } });
    expect(await statuses(a, 'farm', 2)).toEqual([200, 200]);
    expect(await statuses(b, 'farm', 3)).toEqual([200, 200, 429]);
    const refused = await ask(a, 'farm');
    expect(refused).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(15);
    expect(await readiness(a)).toMatchObject({
      status: 200,
      body: { ready: true, dependencies: { redis: { up: true, countedBy: 'redis' } } },
    });
  });

  it('let exactly the limit through when requests come at once, and what they refuse takes nothing', async () => {
    const { a, b } = await twoProxies({ farm: { requestsPerMinute: 12, inputTokensPerMinute: 100_000 } });
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) => ask(index % 2 ? a : b, 'farm')),
    );
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(12);
    expect(replies.filter((reply) => reply.status === 429)).toHaveLength(28);
  });

  it('share what engines report: input tokens given back, output tokens used up', async () => {
    const { a, b } = await twoProxies(
      { farm: { inputTokensPerMinute: 1_000, outputTokensPerMinute: 50 } },
      [10, 30],
    );
    expect((await ask(a, 'farm', promptOf(900))).status).toBe(200);
    await expect.poll(async () => (await ask(b, 'farm', promptOf(900))).status, patient).toBe(200);
    await expect.poll(async () => (await ask(a, 'farm')).message, patient).toContain('outputTokensPerMinute');
    expect((await ask(b, 'farm')).message).toContain('outputTokensPerMinute');
  });
});

describe('a Redis that is killed', () => {
  it('leaves each proxy with its own count, warned of once; back and empty, it loosens no limit further', async () => {
    const { redis, a, b, logs } = await twoProxies({ farm: { requestsPerMinute: 4 } });
    expect(await statuses(a, 'farm', 2)).toEqual([200, 200]);
    expect(await statuses(b, 'farm', 1)).toEqual([200]);
    await redis.kill();
    // Each may let through what is left of its own count, and no more.
    expect(await statuses(a, 'farm', 3)).toEqual([200, 200, 429]);
    expect(await statuses(b, 'farm', 4)).toEqual([200, 200, 200, 429]);
    for (const proxy of [a, b]) await untilGauge(proxy, 'fermata_proxy_redis_up', 0);
    expect(await readiness(a)).toMatchObject({
      status: 200,
      body: { ready: true, dependencies: { redis: { up: false, countedBy: 'this proxy' } } },
    });
    for (const log of logs) expect(log.filter((line) => line['level'] === 40)).toHaveLength(1);
    await redis.start();
    for (const proxy of [a, b]) await untilGauge(proxy, 'fermata_proxy_redis_up', 1);
    expect(await statuses(a, 'farm', 1)).toEqual([429]);
    expect(await statuses(b, 'farm', 1)).toEqual([429]);
    // Counting together again, from what the new Redis has seen.
    expect(await statuses(a, 'desk', 1)).toEqual([200]);
    for (const log of logs) {
      expect(log.filter((line) => line['msg'] === 'Redis counts rate limits again')).toHaveLength(1);
    }
  });

  it('counts together again once it is back', async () => {
    const { redis, a, b } = await twoProxies({ '*': { requestsPerMinute: 2 } });
    await redis.kill();
    for (const proxy of [a, b]) await untilGauge(proxy, 'fermata_proxy_redis_up', 0);
    await redis.start();
    for (const proxy of [a, b]) await untilGauge(proxy, 'fermata_proxy_redis_up', 1);
    expect(await statuses(a, 'new', 1)).toEqual([200]);
    expect(await statuses(b, 'new', 2)).toEqual([200, 429]);
  });
});

it('what Redis refuses takes nothing of the own count of a proxy', async () => {
  const { redis, a, b } = await twoProxies({ farm: { requestsPerMinute: 3 } });
  expect(await statuses(a, 'farm', 3)).toEqual([200, 200, 200]);
  expect(await statuses(b, 'farm', 5)).toEqual([429, 429, 429, 429, 429]);
  await redis.kill();
  await untilGauge(b, 'fermata_proxy_redis_up', 0);
  expect(await statuses(b, 'farm', 4)).toEqual([200, 200, 200, 429]);
});

it('what was taken while Redis was away is not given back to it when it is there again', async () => {
  const redis = await startRedis();
  const stack = await startStack({
    rateLimits: { farm: { inputTokensPerMinute: 1_000 } },
    redisUrl: redis.url,
    limits: patientLimits,
  });
  const { proxy: a, engine, scheduler } = stack;
  const { proxy: b } = await startProxy(scheduler.url, { redisUrl: redis.url, limits: patientLimits });
  await until(() => scheduler.of('resync').length === 2, 'both proxies are linked');
  await redis.kill();
  for (const proxy of [a, b]) await untilGauge(proxy, 'fermata_proxy_redis_up', 0);
  const early = ask(a, 'farm', promptOf(900));
  const call = await engine.next();
  await redis.start();
  for (const proxy of [a, b]) await untilGauge(proxy, 'fermata_proxy_redis_up', 1);
  const finish = (held: typeof call, promptTokens: number): void =>
    held.json(200, { choices: [], usage: { prompt_tokens: promptTokens, completion_tokens: 1 } });
  const other = ask(b, 'farm', promptOf(500));
  finish(await engine.next(), 500);
  expect((await other).status).toBe(200);
  finish(call, 10);
  expect((await early).status).toBe(200);
  // Its own count has room for this, what both have taken together has not.
  expect((await ask(a, 'farm', promptOf(600))).status).toBe(429);
});

describe('a Redis that does not answer', () => {
  it('is not waited for beyond the bound, nor asked again until it answers', async () => {
    const { redis, a, logs } = await twoProxies({ farm: { requestsPerMinute: 1_000 } }, [5, 1], {
      redisAnswerMs: 1_500,
    });
    redis.freeze();
    expect(await statuses(a, 'farm', 3)).toEqual([200, 200, 200]);
    await untilGauge(a, 'fermata_proxy_redis_up', 0);
    // Were each of them to wait, the test would not end in time.
    expect(await statuses(a, 'farm', 30)).toEqual(Array.from({ length: 30 }, () => 200));
    expect(logs[0]?.filter((line) => line['level'] === 40)).toHaveLength(1);
    redis.thaw();
    await untilGauge(a, 'fermata_proxy_redis_up', 1);
    expect((await ask(a, 'farm')).status).toBe(200);
  });
});

it('a Redis that cannot be reached at the start keeps no proxy from starting, and its password is told to nobody', async () => {
  const redis = await startRedis();
  const url = redis.url.replace('redis://', 'redis://fermata:s3cret-word@');
  const { proxy, engine, log } = await startStack({
    rateLimits: { farm: { requestsPerMinute: 2 } },
    redisUrl: url,
  });
  answerWith(engine, 5, 1);
  expect(await statuses(proxy, 'farm', 3)).toEqual([200, 200, 429]);
  const told = JSON.stringify([log, await readiness(proxy)]);
  expect(told).toContain('127.0.0.1');
  expect(told).not.toContain('s3cret-word');
  expect(log.filter((line) => line['level'] === 40)).toHaveLength(1);
});

it('the script in Redis decides as the count in memory does', async () => {
  const redis = await startRedis();
  const shared = await connectSharedBudgets({
    url: redis.url,
    answerWithinMs: 10_000,
    logger: pino({ level: 'silent' }),
  });
  closeAfterTest(() => shared.close());
  expect(shared.up).toBe(true);
  const limit = fc.option(fc.integer({ min: 20, max: 300 }), { nil: undefined });
  const step = fc.record({
    promptTokens: fc.integer({ min: 0, max: 120 }),
    inputTokens: fc.integer({ min: -120, max: 120 }),
    outputTokens: fc.integer({ min: 0, max: 90 }),
  });
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(limit, limit, limit),
      fc.array(step, { maxLength: 12 }),
      async (values, steps) => {
        const limits = Object.fromEntries(
          limitNames.flatMap((name, index) => (values[index] === undefined ? [] : [[name, values[index]]])),
        );
        const caller = `caller ${(count += 1)} \u00e4'"\n` as Caller;
        const local = new LocalBudgets(1);
        for (const { promptTokens, inputTokens, outputTokens } of steps) {
          const theirs = await shared.take(caller, limits, { promptTokens });
          const ours = local.take(caller, limits, { promptTokens }, performance.now());
          // Milliseconds pass between the two, in which less than one unit recovers.
          const apart = limitNames.map((name) =>
            Math.abs((theirs?.used[name] ?? Infinity) - ours.used[name]),
          );
          const decidedAlike = theirs?.refusedBy === ours.refusedBy;
          const edge = Math.min(theirs?.waitMs ?? 0, ours.waitMs);
          expect(decidedAlike || edge < 1_000).toBe(true);
          if (!decidedAlike) return;
          expect(Math.max(...apart)).toBeLessThan(1);
          expect(Math.abs((theirs?.waitMs ?? 0) - ours.waitMs)).toBeLessThan(1_000);
          shared.adjust(caller, limits, inputTokens, outputTokens);
          local.adjust(caller, limits, inputTokens, outputTokens, performance.now());
        }
      },
    ),
    { numRuns: 150 },
  );
});
