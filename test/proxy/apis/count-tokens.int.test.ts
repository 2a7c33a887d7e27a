/** `POST /v1/messages/count_tokens`: no turn, but to where its run is. */
import { describe, expect, it } from 'vitest';
import type { Json } from '../reply/read-reply.ts';
import { post, replica, startProxy, startStack, until, type Stack } from '../stack.ts';

const path = '/v1/messages/count_tokens';
const messages = [{ role: 'user', content: 'hi' }];

interface Answer {
  readonly status: number;
  readonly replica: unknown;
  readonly run: unknown;
  readonly retryAfter: unknown;
  readonly text: string;
}

async function count(
  proxy: { readonly port: number },
  fields: Json = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const client = post(
    proxy,
    `${path}?beta=true`,
    JSON.stringify({ model: 'm-test', messages, ...fields }),
    headers,
  );
  const head = await client.head;
  await until(() => client.ended() !== null, 'the reply has ended');
  return {
    status: head.statusCode ?? 0,
    replica: head.headers['x-fermata-replica'],
    run: head.headers['x-fermata-run-id'],
    retryAfter: head.headers['retry-after'],
    text: client.text(),
  };
}

async function start(engines: number, more: Record<number, Json> = {}): Promise<Stack> {
  const stack = await startStack({
    engines,
    streamIdleMs: 1_000,
    pool: (all) =>
      all.map(({ url }, index) => replica(`e${index}`, url, { apis: ['messages'], ...more[index] })),
  });
  for (const [index, engine] of stack.engines.entries()) {
    engine.answer((call) => call.json(200, { input_tokens: index, content: [], stop_reason: 'end_turn' }));
  }
  return stack;
}

describe('a count of tokens', () => {
  it('goes to an engine as it is, without the scheduler, and comes back as it is', async () => {
    const { proxy, engine, scheduler, log } = await start(1);
    engine.answer((call) => {
      expect(call.url).toBe(`${path}?beta=true`);
      expect(JSON.parse(call.body.toString('utf8'))).toEqual({
        model: 'm-test',
        messages,
        thinking: { x: 1 },
      });
      call.json(200, { input_tokens: 14 });
    });
    expect(await count(proxy, { thinking: { x: 1 } })).toMatchObject({
      status: 200,
      replica: 'e0',
      run: undefined,
      text: '{"input_tokens":14}',
    });
    expect(scheduler.of('turnArrived')).toEqual([]);
    expect(log.at(-1)).toMatchObject({
      msg: 'token count',
      api: 'count_tokens',
      status: 200,
      outcome: 'done',
    });
    const metrics = await (await fetch(`${proxy.url}/metrics`)).text();
    expect(metrics).toContain('fermata_proxy_requests_total{api="count_tokens",status="200"} 1');
  });

  it('goes to the replica of its run, whose turn it does not become', async () => {
    const { proxy, scheduler } = await start(3);
    const asRun = { 'x-fermata-run-id': 'r' };
    const turn = post(proxy, '/v1/messages', JSON.stringify({ model: 'm-test', messages }), asRun);
    await turn.head;
    await until(() => turn.ended() !== null, 'the turn has ended');
    for (let times = 0; times < 4; times++) {
      expect(await count(proxy, {}, asRun)).toMatchObject({ replica: 'e0', run: 'r' });
    }
    // By what it sends back a client without a run header is known as well.
    const later = [...messages, { role: 'assistant', content: 'x' }, { role: 'user', content: 'y' }];
    expect(await count(proxy, { messages: later })).toMatchObject({ replica: 'e0', run: 'r' });
    expect(scheduler.of('turnArrived')).toHaveLength(1);
    const report = (await (await fetch(`${proxy.url}/v1/runs/r`)).json()) as { turns: number };
    expect(report.turns).toBe(1);
  });

  it('spreads over the healthy replicas when its run is nowhere yet', async () => {
    const { proxy } = await start(4, { 1: { healthy: false }, 3: { apis: ['chat'] } });
    const replicas: string[] = [];
    for (let times = 0; times < 4; times++) replicas.push(String((await count(proxy)).replica));
    expect(replicas.toSorted((a, b) => a.localeCompare(b))).toEqual(['e0', 'e0', 'e2', 'e2']);
  });

  it.each([404, 400, 429, 500, 503])('passes an engine\u2019s own %d on unchanged', async (status) => {
    const { proxy, engine } = await start(1);
    engine.answer((call) => call.json(status, { detail: 'Not Found' }));
    expect(await count(proxy)).toMatchObject({ status, text: '{"detail":"Not Found"}' });
    expect(engine.calls).toHaveLength(1);
  });

  it('is tried once more elsewhere when a replica cannot be reached', async () => {
    const { proxy, engines } = await start(2);
    await engines[0]?.close();
    const answers = [await count(proxy), await count(proxy)];
    expect(answers.map(({ status, replica: at }) => ({ status, at }))).toEqual([
      { status: 200, at: 'e1' },
      { status: 200, at: 'e1' },
    ]);
    await engines[1]?.close();
    const { status, text } = await count(proxy);
    expect(status).toBe(502);
    expect(JSON.parse(text)).toMatchObject({
      type: 'error',
      error: { type: 'api_error', code: 'engine_unreachable' },
    });
  });

  it('gives an engine up that sends nothing', async () => {
    const { proxy, engine } = await start(1);
    engine.answer(() => {});
    const { status, text } = await count(proxy);
    expect(status).toBe(504);
    expect(JSON.parse(text)).toMatchObject({ error: { type: 'api_error', code: 'engine_idle' } });
  });

  it('names what nobody serves, in the words of a turn', async () => {
    const { proxy } = await start(1, { 0: { apis: ['chat'] } });
    const unsupported = await count(proxy);
    expect(unsupported.status).toBe(404);
    expect(JSON.parse(unsupported.text)).toMatchObject({
      error: { type: 'not_found_error', code: 'unsupported_api' },
    });
    const unknown = await count(proxy, { model: 'other' });
    expect(JSON.parse(unknown.text)).toMatchObject({ error: { code: 'unknown_model' } });
    const wrong = await count(proxy, { messages: 'x' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('messages');
  });

  it('is refused for now when no replica of its model is healthy', async () => {
    const { proxy } = await start(1, { 0: { healthy: false } });
    const { status, retryAfter, text } = await count(proxy);
    expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: '1' });
    expect(JSON.parse(text)).toMatchObject({ error: { type: 'overloaded_error', code: 'overloaded' } });
  });

  it('closes its engine request when the client leaves', async () => {
    const { proxy, engine } = await start(1);
    let aborted = (): boolean => false;
    let called = false;
    engine.answer((call) => {
      aborted = call.aborted;
      called = true;
    });
    const client = post(proxy, path, JSON.stringify({ model: 'm-test', messages }));
    await until(() => called, 'the engine is asked');
    client.leave();
    await until(() => aborted(), 'the engine request is closed');
    expect(engine.calls).toHaveLength(1);
  });

  it('is refused while the scheduler has never told the pool', { timeout: 20_000 }, async () => {
    const { proxy } = await startProxy('http://127.0.0.1:9');
    const { status, text } = await count(proxy);
    expect(status).toBe(503);
    expect(text).toContain('scheduler');
  });
});
