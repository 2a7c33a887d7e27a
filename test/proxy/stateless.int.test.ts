/** Embeddings, reranking and scores through the whole proxy: what passes, what fails how, what is left behind. */
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { apiSchema } from '../../contracts/config-file.ts';
import { startSimEngine } from '../../testkit/sim-engine/host.ts';
import { startRealScheduler } from './real-scheduler.ts';
import { startScriptedEngine, type EngineCall, type ScriptedEngine } from './scripted-engine.ts';
import {
  closeAfterTest,
  post,
  replica,
  startProxy,
  startStack,
  until,
  untilGauge,
  type Stack,
} from './stack.ts';

const apis = apiSchema.options;

const endpoints = [
  ['/v1/embeddings', 'embeddings', '{"model":"m-test", "input":["a",  "b"], "dimensions":1e1}'],
  ['/v1/rerank', 'rerank', '{"model":"m-test","query":"q","documents":["x","y"],"top_n":1}'],
  ['/v2/rerank', 'rerank', '{"model":"m-test","query":"q","documents":["x","y"]}'],
  ['/rerank', 'rerank', '{"model":"m-test","query":"q","documents":["x","y"]}'],
  ['/v1/score', 'score', '{"model":"m-test","text_1":"a","text_2":["b","c"]}'],
] as const;

const [[path, , body]] = endpoints;
const reply =
  '{"object":"list", "data":[{"embedding":[0.10,-2e-3]}],"usage":{"prompt_tokens":7,"total_tokens":7}}';

async function stateless(engines = 1, fields: Parameters<typeof replica>[2] = {}): Promise<Stack> {
  return await startStack({
    engines,
    pool: (started) => started.map(({ url }, index) => replica(`engine-${index}`, url, { apis, ...fields })),
  });
}

function answerOk(call: EngineCall): void {
  call.head(200, { 'content-type': 'application/json' });
  call.write(reply);
  call.end();
}

async function ask(
  proxy: { port: number },
  at: string = path,
  text: string = body,
  headers: Record<string, string> = {},
) {
  const client = post(proxy, at, text, headers);
  const head = await client.head;
  await until(() => client.ended() !== null, 'the reply has ended');
  return { status: head.statusCode, headers: head.headers, text: client.text() };
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

describe.each(endpoints)('POST %s', (at, api, text) => {
  it('passes request and reply byte for byte and logs what was used', async () => {
    const { proxy, engine, scheduler, log } = await stateless(1, { engine: 'none' });
    engine.answer(answerOk);
    const answered = await ask(proxy, `${at}?a=b`, text);
    expect([answered.status, answered.text]).toEqual([200, reply]);
    expect([engine.calls[0]?.url, engine.calls[0]?.body.toString('utf8')]).toEqual([`${at}?a=b`, text]);
    const [arrived] = scheduler.of('turnArrived');
    expect(arrived?.spec).toMatchObject({ api, model: 'm-test', maxTokens: 0, prefix: [] });
    await until(() => scheduler.of('turnFinished').length === 1, 'its end is reported');
    expect(scheduler.of('turnFinished')[0]).toMatchObject({
      outcome: 'done',
      usage: { promptTokens: 7, completionTokens: 0 },
    });
    await until(() => log.some((line) => line['msg'] === 'turn'), 'it is logged');
    expect(log.find((line) => line['msg'] === 'turn')).toMatchObject({
      api,
      model: 'm-test',
      replica: 'engine-0',
      status: 200,
      outcome: 'done',
      tokensIn: 7,
      tokensOut: 0,
      runBy: 'none',
    });
    const metrics = await (await fetch(`${proxy.url}/metrics`)).text();
    expect(metrics).toContain(`fermata_proxy_requests_total{api="${api}",status="200"} 1`);
    expect(metrics).toContain('fermata_proxy_tokens_total{class="interactive",kind="prompt"} 7');
  });

  it('is of no run, whatever run its headers name', async () => {
    const { proxy, engine, scheduler } = await stateless();
    engine.answer(answerOk);
    const answered = await ask(proxy, at, text, { 'x-fermata-run-id': 'mine', 'x-session-id': 's1' });
    await until(() => scheduler.of('turnFinished').length === 1, 'its end is reported');
    const named = String(answered.headers['x-fermata-run-id']);
    expect(named).not.toBe('mine');
    for (const run of ['mine', named]) expect((await fetch(`${proxy.url}/v1/runs/${run}`)).status).toBe(404);
    expect(scheduler.of('runEnded')).toEqual([]);
    const refused = await ask(proxy, at, text, { 'x-fermata-run-id': 'x'.repeat(129) });
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      400,
      { error: { code: 'invalid_header' } },
    ]);
  });
});

it('takes a rerank request to the one path that inference engines have', async () => {
  const { proxy, engine } = await stateless(1, { engine: 'sglang' });
  engine.answer(answerOk);
  for (const at of ['/v1/rerank', '/v2/rerank', '/rerank']) await ask(proxy, at);
  expect(engine.calls.map(({ url }) => url)).toEqual(['/v1/rerank', '/v1/rerank', '/v1/rerank']);
});

it('asks whatever the pool serves when no model is named', async () => {
  const { proxy, engine, scheduler } = await stateless();
  engine.answer(answerOk);
  for (const text of ['{"input":"a"}', '{"input":"a","model":null}']) {
    expect((await ask(proxy, path, text)).status).toBe(200);
  }
  expect(scheduler.of('turnArrived').map(({ spec }) => spec.model)).toEqual([null, null]);
  expect(engine.calls.map((call) => call.body.toString('utf8'))).toEqual([
    '{"input":"a"}',
    '{"input":"a","model":null}',
  ]);
});

describe('a request that cannot be taken', () => {
  it.each([
    ['is no JSON', '{"model":', 400, 'invalid_json'],
    ['is no object', '["m-test"]', 400, 'invalid_request'],
    ['has a model that is no name', '{"model":5,"input":"a"}', 400, 'invalid_request'],
    ['has an empty model', '{"model":"","input":"a"}', 400, 'invalid_request'],
    ['names a model nobody serves', '{"model":"x","input":"a"}', 404, 'unknown_model'],
  ])('because it %s', async (_why, text, status, code) => {
    const { proxy, engine } = await stateless();
    const refused = await ask(proxy, path, text);
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([status, { error: { code } }]);
    expect(engine.calls).toEqual([]);
  });

  it.each([
    [
      '{"model":"m-test","input":"a"}',
      "no replica serves embeddings for model 'm-test'; engine-0 serves chat, score:",
    ],
    ['{"input":"a"}', 'no replica serves embeddings; engine-0 serves chat, score:'],
  ])('because of its endpoint: %s', async (text, message) => {
    const { proxy } = await stateless(1, { apis: ['chat', 'score'] });
    const refused = await ask(proxy, path, text);
    expect(refused.status).toBe(404);
    expect((JSON.parse(refused.text) as { error: object }).error).toMatchObject({
      code: 'unsupported_api',
      type: 'not_found_error',
      message: expect.stringContaining(message) as string,
    });
  });
});

describe('an engine that fails', () => {
  it('before the first byte is tried once more elsewhere, since nothing is pinned', async () => {
    const port = await closedPort();
    const stack = await startStack({
      pool: ([engine]) => [
        replica('gone', `http://127.0.0.1:${port}`, { apis }),
        replica('there', engine?.url ?? '', { apis }),
      ],
    });
    stack.engine.answer(answerOk);
    for (let turn = 0; turn < 2; turn += 1) {
      const answered = await ask(stack.proxy, path, body, { 'x-fermata-run-id': 'same' });
      expect([answered.status, answered.headers['x-fermata-replica']]).toEqual([200, 'there']);
    }
    await until(() => stack.scheduler.of('turnFinished').length === 4, 'all is reported');
    expect(stack.scheduler.of('turnFinished').map(({ outcome }) => outcome)).toEqual([
      'failed',
      'done',
      'failed',
      'done',
    ]);
  });

  it('cannot be reached and has no other beside it: 502', async () => {
    const port = await closedPort();
    const stack = await startStack({ pool: () => [replica('gone', `http://127.0.0.1:${port}`, { apis })] });
    const failed = await ask(stack.proxy);
    expect([failed.status, JSON.parse(failed.text)]).toMatchObject([
      502,
      { error: { code: 'engine_unreachable' } },
    ]);
    await until(() => stack.scheduler.places() === 0, 'its place is free');
  });

  it('amid the reply cuts the connection and is reported failed', async () => {
    const { proxy, engine, scheduler } = await stateless();
    const client = post(proxy, path, body);
    const call = await engine.next();
    call.head(200, { 'content-type': 'application/json', 'content-length': '1000' });
    call.write(reply);
    await until(() => client.text() === reply, 'the first bytes came');
    call.reset();
    await until(() => client.ended() !== null, 'the connection is closed');
    expect(client.ended()).toBe('cut');
    await until(() => scheduler.of('turnFinished').length === 1, 'its end is reported');
    expect(scheduler.of('turnFinished')[0]?.outcome).toBe('failed');
  });

  it.each([
    [429, 'refused'],
    [500, 'refused'],
    [501, 'refused'],
    [400, 'failed'],
  ] as const)('with %i passes status, body and Retry-After on', async (status, outcome) => {
    const { proxy, engine, scheduler } = await stateless();
    engine.answer((call) => call.json(status, { detail: 'no' }, { 'retry-after': '7' }));
    const failed = await ask(proxy);
    expect([failed.status, failed.text, failed.headers['retry-after']]).toEqual([
      status,
      '{"detail":"no"}',
      '7',
    ]);
    await until(() => scheduler.of('turnFinished').length === 1, 'its end is reported');
    expect(scheduler.of('turnFinished')[0]?.outcome).toBe(outcome);
    expect(engine.calls).toHaveLength(1);
  });
});

describe('with a real scheduler', () => {
  async function pool(count: number, fields: Record<string, unknown> = {}) {
    const engines: ScriptedEngine[] = [];
    for (let index = 0; index < count; index += 1) {
      const engine = await startScriptedEngine();
      closeAfterTest(() => engine.close());
      engines.push(engine);
    }
    const scheduler = await startRealScheduler(
      engines.map(({ url }, index) => ({ id: `r${index}`, url, apis, ...fields }) as never),
    );
    const { proxy, log } = await startProxy(scheduler.url);
    return { engines, scheduler, proxy, log };
  }

  it.each(endpoints)('%s goes to the least loaded of two replicas', async (at, _api, text) => {
    const { engines, proxy } = await pool(2);
    const clients = Array.from({ length: 6 }, () => post(proxy, at, text));
    await until(() => engines.every(({ calls }) => calls.length === 3), 'each replica has half of them');
    const [busy, free] = engines;
    for (const call of free?.calls ?? []) answerOk(call);
    await untilGauge(proxy, 'fermata_proxy_active', 3);
    // One replica has three in flight and the other none: the next three are for that one.
    clients.push(...Array.from({ length: 3 }, () => post(proxy, at, text)));
    await until(() => free?.calls.length === 6, 'the free replica has the next three');
    expect(busy?.calls).toHaveLength(3);
    for (const engine of engines)
      for (const call of engine.calls) if (!call.response.writableEnded) answerOk(call);
    await until(() => clients.every((client) => client.ended() === 'whole'), 'all are answered');
  });

  it.each(endpoints)('%s respects maxConcurrent, and waits in order', async (at, _api, text) => {
    const { engines, proxy } = await pool(1, { maxConcurrent: 2 });
    const clients = Array.from({ length: 5 }, () => post(proxy, at, text));
    await until(() => (engines[0]?.calls.length ?? 0) >= 2, 'the engine has two');
    await untilGauge(proxy, 'fermata_proxy_held', 3);
    expect(engines[0]?.calls).toHaveLength(2);
    engines[0]?.answer(answerOk);
    for (const call of engines[0]?.calls ?? []) answerOk(call);
    await until(() => clients.every((client) => client.ended() === 'whole'), 'all are answered');
    expect(engines[0]?.calls).toHaveLength(5);
  });

  it('lets go of a held request whose client leaves, which no engine hears of', async () => {
    const { engines, proxy } = await pool(1, { maxConcurrent: 1 });
    const first = post(proxy, path, body);
    await untilGauge(proxy, 'fermata_proxy_active', 1);
    const held = post(proxy, path, body);
    await untilGauge(proxy, 'fermata_proxy_held', 1);
    held.leave();
    await untilGauge(proxy, 'fermata_proxy_held', 0);
    const [call] = engines[0]?.calls ?? [];
    if (call !== undefined) answerOk(call);
    await until(() => first.ended() === 'whole', 'the first is answered');
    await untilGauge(proxy, 'fermata_proxy_active', 0);
    expect(engines[0]?.calls).toHaveLength(1);
  });

  it('closes the engine request of a client that leaves', async () => {
    const { engines, proxy } = await pool(1);
    const client = post(proxy, path, body);
    await until(() => engines[0]?.calls.length === 1, 'the engine has it');
    client.leave();
    await until(() => engines[0]?.calls[0]?.aborted() === true, 'the engine is told');
    await untilGauge(proxy, 'fermata_proxy_active', 0);
    expect(engines[0]?.calls).toHaveLength(1);
  });

  it('leaves no run behind in the scheduler, even when it restarts meanwhile', async () => {
    const { engines, scheduler, proxy } = await pool(1, { maxConcurrent: 1 });
    const clients = [post(proxy, path, body), post(proxy, path, body)];
    await untilGauge(proxy, 'fermata_proxy_held', 1);
    await scheduler.stop();
    await scheduler.start();
    await untilGauge(proxy, 'fermata_proxy_link_up', 1);
    engines[0]?.answer(answerOk);
    for (const call of engines[0]?.calls ?? []) answerOk(call);
    await until(() => clients.every((client) => client.ended() === 'whole'), 'both are answered');
    await untilGauge(proxy, 'fermata_proxy_active', 0);
    const status = (await (await fetch(`${scheduler.url}/status`)).json()) as { runs: unknown[] };
    expect(status.runs).toEqual([]);
  });
});

it('reaches a simulated engine that was asked what it serves, and nothing that it does not', async () => {
  const sim = await startSimEngine({ kind: 'one-shot', model: 'm-test', timeScale: 0 });
  closeAfterTest(() => sim.close());
  const scheduler = await startRealScheduler([{ id: 'r0', url: sim.url, engine: 'vllm' } as never]);
  const { proxy, log } = await startProxy(scheduler.url);
  for (const [at, , text] of endpoints) {
    const answered = await ask(proxy, at, text.replace(', "dimensions":1e1', ''));
    expect([at, answered.status]).toEqual([at, 200]);
    const { usage } = JSON.parse(answered.text) as { usage: { prompt_tokens: number } };
    await until(() => log.some((line) => line['tokensIn'] === usage.prompt_tokens), 'its usage is logged');
  }
  const refused = await ask(proxy, '/v1/completions', '{"model":"m-test","prompt":"a"}');
  expect([refused.status, refused.text]).toEqual([
    404,
    expect.stringContaining("no replica serves completions for model 'm-test'; r0 serves embeddings,"),
  ]);
  expect(sim.requests().map(({ path: asked }) => asked)).toEqual([
    '/v1/embeddings',
    '/v1/rerank',
    '/v1/rerank',
    '/v1/rerank',
    '/v1/score',
  ]);
});
