/** How often an engine is asked for one call of a client, through the SDK or the worker's model client and the proxy. */
import OpenAI, { APIError } from 'openai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createModelClient } from '../../activities/model-turn/model-client.ts';
import { ModelTurnError } from '../../activities/model-turn/model-turn-error.ts';
import { caseFile } from '../case-file.ts';
import { nothingLeft, startRealStack, type RealStack } from './real-stack.ts';
import type { EngineCall } from './scripted-engine.ts';
import { closeAfterTest } from './stack.ts';

const g02 = caseFile('G02');
const g08 = caseFile('G08');
const given = z.object({ upstream: z.string() }).loose().parse(g02.given);
const { engine_requests_per_logical_call_max: mostRequests } = z
  .object({
    engine_requests_per_logical_call_max: z.number(),
    proxy_adds_on_final: z.string(),
    gaps_grow: z.literal(true),
  })
  .parse(g02.expect);
/** `always 429 with retry-after: 1` */
const [caseStatus = 0, caseRetryAfter = 0] = (given.upstream.match(/\d+/g) ?? []).map(Number);

/** Asked so soon again that a test can wait for it: every wait of the SDK and the proxy is this long at first. */
const soonMs = 20;

const failures: Readonly<Record<string, (call: EngineCall) => void>> = {
  'a limit, as in the case': (call) =>
    call.json(
      caseStatus,
      { error: { message: 'slow down' } },
      { 'retry-after-ms': String(caseRetryAfter * soonMs) },
    ),
  'a full queue': (call) => call.json(503, {}, { 'retry-after-ms': String(soonMs) }),
  'a fault': (call) => call.json(500, {}, { 'retry-after-ms': String(soonMs) }),
  'a lost connection': (call) => call.reset(),
};

/** Both engines always fail so; resolves with the times of their requests. */
async function failing(
  fail: (call: EngineCall) => void,
  engines: number,
): Promise<{ stack: RealStack; requests: number[] }> {
  const stack = await startRealStack({ engines, limits: { queueFullDelayMs: soonMs } });
  const requests: number[] = [];
  for (const engine of stack.engines) {
    engine.answer((call) => {
      requests.push(performance.now());
      fail(call);
    });
  }
  return { stack, requests };
}

const table = Object.entries(failures).flatMap(([name, fail]) =>
  [1, 2].map((engines) => ({ name: `${name}, ${engines} engines`, fail, engines })),
);

describe(`${g02.id} ${g02.title}`, () => {
  it.each(table)('loop, SDK, proxy, engine: $name', async ({ fail, engines }) => {
    const { stack, requests } = await failing(fail, engines);
    // The SDK's own retries are on, as they are in anybody's loop.
    const sdk = new OpenAI({ baseURL: `${stack.proxy.url}/v1`, apiKey: 'x', logLevel: 'off' });
    const asked = sdk.chat.completions.create({
      model: 'm-test',
      messages: [{ role: 'user', content: 'go' }],
    });
    await expect(asked).rejects.toThrow(APIError);
    expect(requests.length).toBeGreaterThan(0);
    expect(requests.length).toBeLessThanOrEqual(mostRequests);
    await nothingLeft(stack);
  });

  it.each(table)('worker, proxy, engine: $name', async ({ fail, engines }) => {
    const { stack, requests } = await failing(fail, engines);
    const client = createModelClient(stack.proxy.url);
    closeAfterTest(() => client.close());
    await expect(turn(client)).rejects.toThrow(ModelTurnError);
    expect(requests.length).toBeGreaterThan(0);
    expect(requests.length).toBeLessThanOrEqual(mostRequests);
    await nothingLeft(stack);
  });

  it('a full queue is asked at growing gaps, and the last reply says that the proxy has tried enough', async () => {
    const { stack, requests } = await failing(failures['a full queue'] ?? (() => {}), 1);
    const response = await fetch(`${stack.proxy.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm-test', messages: [] }),
    });
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, 'false']);
    await response.body?.cancel();
    const gaps = requests.slice(1).map((at, index) => at - (requests[index] ?? 0));
    expect(gaps).toHaveLength(3);
    // At least as long as the proxy must wait, which doubles; a busy machine only adds to it.
    for (const [index, gap] of gaps.entries()) expect(gap).toBeGreaterThanOrEqual(soonMs * 2 ** index - 2);
  });

  it('a reply at the first try says nothing of retries', async () => {
    const { stack } = await failing((call) => call.json(429, {}), 1);
    const response = await fetch(`${stack.proxy.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm-test', messages: [] }),
    });
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([429, null]);
    await response.body?.cancel();
  });
});

const rows = z
  .object({ rows: z.array(z.object({ name: z.string(), status: z.number(), body: z.unknown() })) })
  .parse(g08.given).rows;
const classes = z
  .object({
    rows: z.array(
      z.object({ class: z.string(), prompt_tokens: z.number().optional(), limit: z.number().optional() }),
    ),
  })
  .parse(g08.expect).rows;

describe(`${g08.id} ${g08.title}`, () => {
  it.each(rows.map((row, index) => ({ ...row, wanted: classes[index] })))(
    '$name: the body passes unchanged, the log names the class, the worker has the counts',
    async ({ status, body, wanted }) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const stack = await startRealStack({ engines: 1 });
      stack.engines[0]?.answer((call) => {
        call.head(status, { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' });
        call.write(text);
        call.end();
      });
      const response = await fetch(`${stack.proxy.url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'm-test', messages: [] }),
      });
      expect([response.status, await response.text()]).toEqual([status, text]);
      const client = createModelClient(stack.proxy.url);
      closeAfterTest(() => client.close());
      const failure: unknown = await turn(client).catch((error: unknown) => error);
      expect(failure).toMatchObject({
        failure: {
          kind: 'status',
          status,
          refusal: {
            kind: wanted?.class,
            promptTokens: wanted?.prompt_tokens ?? null,
            limitTokens: wanted?.limit ?? null,
          },
        },
      });
      await nothingLeft(stack);
      const reasons = stack.log.filter(({ msg }) => msg === 'turn').map((line) => line['reason']);
      expect(reasons).toHaveLength(2);
      for (const reason of reasons) expect(reason).toContain(`(${wanted?.class}`);
    },
  );
});

async function turn(client: ReturnType<typeof createModelClient>): Promise<unknown> {
  return await client.stream(
    {
      runId: 'run_1',
      turn: 1,
      class: 'interactive',
      caller: 'tests',
      model: 'm-test',
      maxTokens: 8,
      messages: [{ role: 'user', content: 'go' }],
      tools: [],
    },
    new AbortController().signal,
  );
}
