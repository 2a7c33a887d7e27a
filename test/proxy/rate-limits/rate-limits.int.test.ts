/** Rate limits through a real proxy that counts in its memory. */
import { describe, expect, it } from 'vitest';
import { startRealScheduler } from '../real-scheduler.ts';
import { startScriptedEngine } from '../scripted-engine.ts';
import {
  chatBody,
  chatPath,
  closeAfterTest,
  post,
  replica,
  startProxy,
  startStack,
  until,
  untilGauge,
} from '../stack.ts';
import { answerWith, ask, promptOf, statuses } from './limited-stack.ts';

const patient = { timeout: 10_000 };

describe('a caller that has used up its requests', () => {
  it('gets 429 with Retry-After and which limit, its request reaches nobody, and others go on', async () => {
    const { proxy, engine, scheduler, log } = await startStack({
      rateLimits: { farm: { requestsPerMinute: 2 } },
    });
    answerWith(engine, 5, 1);
    expect(await statuses(proxy, 'farm', 2)).toEqual([200, 200]);
    const refused = await ask(proxy, 'farm');
    expect(refused.status).toBe(429);
    expect(refused.code).toBe('rate_limited');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(30);
    expect(refused.message).toMatch(
      /^caller 'farm' has used up its limit of 2 requests a minute \(requestsPerMinute\); it is free again in \d+ s$/,
    );
    expect(await statuses(proxy, 'desk', 3)).toEqual([200, 200, 200]);
    expect(engine.calls).toHaveLength(5);
    expect(scheduler.of('turnArrived')).toHaveLength(5);
    await until(() => log.some((line) => line['status'] === 429), 'the refusal is in the access log');
    expect(log.find((line) => line['status'] === 429)).toMatchObject({
      caller: 'farm',
      outcome: 'rejected',
      replica: null,
      reason: refused.message,
    });
    const metrics = await (await fetch(`${proxy.url}/metrics`)).text();
    expect(metrics).toContain('fermata_proxy_rate_limited_total{limit="requestsPerMinute"} 1');
  });

  it('is told what it has left by headers of OpenAI’s kind, and others are not', async () => {
    const { proxy, engine } = await startStack({ rateLimits: { farm: { requestsPerMinute: 2 } } });
    answerWith(engine, 5, 1);
    const { headers } = await ask(proxy, 'farm');
    expect(headers['x-ratelimit-limit-requests']).toBe('2');
    expect(headers['x-ratelimit-remaining-requests']).toBe('1');
    expect(headers['x-ratelimit-reset-requests']).toMatch(/^30s$|^29\.\d+s$/);
    const other = await ask(proxy, 'desk');
    expect(Object.keys(other.headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
  });
});

it('a count of tokens is a request like others, and takes no tokens', async () => {
  const { proxy, engine } = await startStack({
    rateLimits: { farm: { requestsPerMinute: 2, inputTokensPerMinute: 10 } },
    pool: ([only]) => [replica('engine-0', only?.url ?? '', { apis: ['chat', 'messages'] })],
  });
  engine.answer((call) => call.json(200, { input_tokens: 500 }));
  const body = JSON.stringify({ model: 'm-test', max_tokens: 1, ...promptOf(500) });
  const count = async (): Promise<number | undefined> =>
    (await post(proxy, '/v1/messages/count_tokens', body, { 'x-fermata-caller': 'farm' }).head).statusCode;
  expect([await count(), await count(), await count()]).toEqual([200, 200, 429]);
});

describe('the limits for everyone', () => {
  it('hold for each caller without an entry by itself, and not for those with one', async () => {
    const { proxy, engine } = await startStack({
      rateLimits: { '*': { requestsPerMinute: 1 }, vip: {}, farm: { requestsPerMinute: 3 } },
    });
    answerWith(engine, 5, 1);
    expect(await statuses(proxy, 'a', 2)).toEqual([200, 429]);
    expect(await statuses(proxy, 'b', 2)).toEqual([200, 429]);
    expect(await statuses(proxy, 'farm', 4)).toEqual([200, 200, 200, 429]);
    expect(await statuses(proxy, 'vip', 5)).toEqual([200, 200, 200, 200, 200]);
  });

  it('come from the configuration through a real scheduler', async () => {
    const engine = await startScriptedEngine();
    closeAfterTest(() => engine.close());
    answerWith(engine, 5, 1);
    const scheduler = await startRealScheduler([{ id: 'engine-0' as never, url: engine.url }], {
      '*': { requestsPerMinute: 1 },
      vip: { weight: 2 },
    });
    const { proxy } = await startProxy(scheduler.url);
    await untilGauge(proxy, 'fermata_proxy_link_up', 1);
    expect(await statuses(proxy, 'a', 2)).toEqual([200, 429]);
    expect(await statuses(proxy, 'vip', 2)).toEqual([200, 200]);
  });

  it('hold as soon as the scheduler tells of them, and no longer than that', async () => {
    const { proxy, engine, scheduler } = await startStack();
    answerWith(engine, 5, 1);
    expect(await statuses(proxy, 'a', 3)).toEqual([200, 200, 200]);
    scheduler.setRateLimits({ '*': { requestsPerMinute: 1 } });
    await expect.poll(async () => (await ask(proxy, 'a')).status, patient).toBe(429);
    scheduler.setRateLimits({});
    await expect.poll(async () => (await ask(proxy, 'a')).status, patient).toBe(200);
  });
});

describe('input tokens', () => {
  const rateLimits = { farm: { inputTokensPerMinute: 1_000 } };

  it('are an estimate until the engine has reported: what it did not need is free again', async () => {
    const { proxy, engine } = await startStack({ rateLimits });
    answerWith(engine, 10, 1);
    for (let sent = 0; sent < 5; sent++) expect((await ask(proxy, 'farm', promptOf(900))).status).toBe(200);
  });

  it('that the engine counted beyond the estimate count as well', async () => {
    const { proxy, engine } = await startStack({ rateLimits });
    answerWith(engine, 990, 1);
    expect((await ask(proxy, 'farm', promptOf(10))).status).toBe(200);
    const refused = await ask(proxy, 'farm', promptOf(100));
    expect(refused.status).toBe(429);
    expect(refused.message).toContain('1000 input tokens a minute (inputTokensPerMinute)');
  });

  it('of a request that is larger than the limit are refused for good', async () => {
    const { proxy, engine } = await startStack({ rateLimits });
    answerWith(engine, 5, 1);
    const refused = await ask(proxy, 'farm', promptOf(1_100));
    expect(refused).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(refused.headers['retry-after']).toBeUndefined();
    expect(refused.message).toContain('it can never pass');
    expect(engine.calls).toHaveLength(0);
  });

  it('of a turn that its engine refused, that nobody serves or that could not be sent come back', async () => {
    const { proxy, engine, scheduler } = await startStack({ rateLimits });
    engine.answer((call) => call.json(429, { error: { message: 'busy' } }));
    expect((await ask(proxy, 'farm', promptOf(900))).status).toBe(429);
    expect((await ask(proxy, 'farm', { ...promptOf(900), model: 'm-none' })).status).toBe(404);
    await engine.close();
    expect((await ask(proxy, 'farm', promptOf(900))).status).toBe(502);
    expect((await ask(proxy, 'farm', promptOf(900))).status).toBe(502);
    await until(() => scheduler.places() === 0, 'no place is taken');
  });

  it('of a turn whose client left while it was held come back', async () => {
    const { proxy, engine, scheduler } = await startStack({ rateLimits, rule: () => null });
    const client = post(proxy, chatPath, chatBody(promptOf(900)), { 'x-fermata-caller': 'farm' });
    await until(() => scheduler.held() === 1, 'the turn is held');
    expect((await ask(proxy, 'farm', promptOf(900))).status).toBe(429);
    client.leave();
    await until(() => scheduler.of('turnAbandoned').length === 1, 'the turn is given up');
    const again = post(proxy, chatPath, chatBody(promptOf(900)), { 'x-fermata-caller': 'farm' });
    await until(() => scheduler.held() === 1, 'the next turn is held');
    again.leave();
    expect(engine.calls).toHaveLength(0);
  });

  it('of a stream that its client left stay taken', async () => {
    const { proxy, engine, scheduler } = await startStack({ rateLimits });
    const client = post(proxy, chatPath, chatBody({ ...promptOf(900), stream: true }), {
      'x-fermata-caller': 'farm',
    });
    const call = await engine.next();
    call.head(200);
    await client.head;
    client.leave();
    await until(() => scheduler.places() === 0, 'the turn has ended');
    expect((await ask(proxy, 'farm', promptOf(900))).status).toBe(429);
  });
});

describe('output tokens', () => {
  it('are known when a reply has ended: the request after the one that used up the limit is refused', async () => {
    const { proxy, engine } = await startStack({ rateLimits: { farm: { outputTokensPerMinute: 50 } } });
    answerWith(engine, 5, 30);
    expect(await statuses(proxy, 'farm', 3)).toEqual([200, 200, 429]);
    const refused = await ask(proxy, 'farm');
    expect(refused.message).toContain('50 output tokens a minute (outputTokensPerMinute)');
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(14);
  });
});
