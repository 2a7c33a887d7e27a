/** Replicas that are asked which APIs they serve, on real sockets, each in its engine's manner. */
import { describe, expect, it, vi } from 'vitest';
import type { Api, Engine } from '../../../contracts/config-file.ts';
import { startSimEngine } from '../../../testkit/sim-engine/host.ts';
import { startApiEngine, type ApiEngine, type Manner } from './api-engine.ts';
import { turnSpec } from './fake-proxy.ts';
import { closeAfterTest, proxy, scheduler, settings, statusBecomes, statusOf } from './stand.ts';

const generating = ['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages'] as const;
const pooling = ['/v1/embeddings', '/v1/rerank', '/v1/score', '/classify'] as const;

async function engine(manner: Manner, paths: readonly string[]): Promise<ApiEngine> {
  const started = await startApiEngine(manner, paths);
  closeAfterTest(() => started.close());
  return started;
}

/** What the first replica serves once it is healthy. */
async function apisOf(url: string): Promise<readonly Api[]> {
  await statusBecomes(url, (status) => expect(status.replicas[0]?.healthy).toBe(true));
  return (await statusOf(url)).replicas[0]?.apis ?? [];
}

async function pagesAsked(target: ApiEngine, path: string, atLeast: number): Promise<void> {
  await vi.waitFor(() => expect(target.askedFor(path)).toBeGreaterThanOrEqual(atLeast), { timeout: 5_000 });
}

describe('a replica without apis in its entry', () => {
  it.each<[Engine, Manner, readonly string[], readonly Api[]]>([
    ['vllm', 'fastapi', generating, ['chat', 'completions', 'responses', 'messages']],
    ['vllm', 'fastapi', pooling, ['embeddings', 'rerank', 'score']],
    ['vllm', 'fastapi', [...generating, ...pooling], ['chat', 'completions', 'responses', 'messages']],
    ['vllm', '405', ['/v1/chat/completions', '/v1/completions'], ['chat', 'completions']],
    ['trtllm', 'fastapi', ['/v1/chat/completions', '/v1/responses'], ['chat', 'responses']],
    ['tgi', '405', ['/v1/chat/completions', '/v1/completions'], ['chat', 'completions']],
    [
      'ollama',
      '405',
      [...generating, '/v1/embeddings'],
      ['chat', 'completions', 'responses', 'messages', 'embeddings'],
    ],
    ['llamacpp', 'httplib', generating, ['chat', 'completions', 'responses', 'messages']],
  ])('of %s tells them in the manner of %s with %j', async (kind, manner, paths, apis) => {
    const target = await engine(manner, paths);
    const { url } = await scheduler([{ id: 'a', url: target.url, engine: kind }]);
    expect(await apisOf(url)).toEqual(apis);
    const link = await proxy(url);
    const [pool] = await link.hears('pool');
    expect(pool?.replicas[0]?.apis).toEqual(apis);
    const posted = target.asked.filter(({ method }) => method === 'POST');
    // Nothing that is JSON is ever posted: it cannot be a request to generate.
    for (const { body } of posted) expect(() => JSON.parse(body) as unknown).toThrow('JSON');
    expect(posted.length > 0).toBe(kind === 'llamacpp');
  });

  it('of llama.cpp serves embeddings only when it was started for them', async () => {
    const target = await engine('httplib', [...generating, '/v1/embeddings', '/v1/rerank']);
    target.notStarted = ['/v1/rerank'];
    const { url } = await scheduler([{ id: 'a', url: target.url, engine: 'llamacpp' }]);
    expect(await apisOf(url)).toEqual(['chat', 'completions', 'responses', 'messages', 'embeddings']);
  });

  it.each([
    [true, ['chat', 'completions', 'responses', 'messages', 'score']],
    [false, ['embeddings', 'rerank', 'score']],
  ] as const)('of SGLang that says is_generation: %j serves %j', async (generates, apis) => {
    const target = await engine('fastapi', [...generating, ...pooling]);
    target.pages = { '/get_model_info': { model_path: 'm', is_generation: generates } };
    const { url } = await scheduler([{ id: 'a', url: target.url, engine: 'sglang' }]);
    expect(await apisOf(url)).toEqual(apis);
  });

  it('that is a one-shot one serves what has no conversation', async () => {
    const target = await engine('fastapi', [...generating, ...pooling]);
    const { url } = await scheduler([{ id: 'a', url: target.url, engine: 'vllm', kind: 'one-shot' }]);
    expect(await apisOf(url)).toEqual(['embeddings', 'rerank', 'score', 'classify']);
  });

  it.each<[Engine, Manner]>([
    ['vllm', 'pages-only'],
    ['vllm', 'silent'],
    ['ollama', 'key-missing'],
    ['llamacpp', 'pages-only'],
    ['llamacpp', 'silent'],
  ])('of %s whose answers cannot be read (%s) serves chat', async (kind, manner) => {
    const target = await engine(manner, []);
    const { url } = await scheduler([{ id: 'a', url: target.url, engine: kind }]);
    expect(await apisOf(url)).toEqual(['chat']);
  });

  it('of no known engine is not asked and serves chat', async () => {
    const target = await engine('fastapi', generating);
    const { url } = await scheduler([{ id: 'a', url: target.url }]);
    expect(await apisOf(url)).toEqual(['chat']);
    await pagesAsked(target, '/health', 3);
    expect(new Set(target.asked.map(({ path }) => path))).toEqual(new Set(['/health', '/v1/models']));
  });
});

it('does not ask a replica whose entry says what it serves', async () => {
  const target = await engine('fastapi', generating);
  const { url } = await scheduler([{ id: 'a', url: target.url, engine: 'vllm', apis: ['messages'] }]);
  expect(await apisOf(url)).toEqual(['messages']);
  await pagesAsked(target, '/health', 3);
  expect(target.askedFor('/openapi.json')).toBe(0);
});

it('holds a turn that a replica might serve until it is asked, then admits or rejects it', async () => {
  const target = await engine('fastapi', ['/v1/responses']);
  target.healthy = false;
  const { url } = await scheduler([{ id: 'a', url: target.url, engine: 'vllm', models: ['m'] }]);
  await statusBecomes(url, (status) => expect(status.replicas[0]?.healthy).toBe(false));
  expect(target.askedFor('/openapi.json')).toBe(0);
  const link = await proxy(url);
  const [served, unserved] = [turnSpec({ api: 'responses' }), turnSpec({ api: 'embeddings' })];
  link.say({ type: 'turnArrived', spec: served, heldForMs: 0 });
  link.say({ type: 'turnArrived', spec: unserved, heldForMs: 0 });
  await statusBecomes(url, (status) => expect(status.held[0]?.turns).toBe(2));
  target.healthy = true;
  const [admit] = await link.hears('admit');
  const [reject] = await link.hears('reject');
  expect(admit).toMatchObject({ turn: served.turn, replica: 'a' });
  expect(reject).toMatchObject({ turn: unserved.turn, code: 'unknown_model' });
});

it('keeps what was told while a replica is unhealthy, and asks again when it is back', async () => {
  const target = await engine('fastapi', ['/v1/chat/completions']);
  const { url } = await scheduler([{ id: 'a', url: target.url, engine: 'vllm' }]);
  expect(await apisOf(url)).toEqual(['chat']);
  await pagesAsked(target, '/health', target.askedFor('/health') + 3);
  expect(target.askedFor('/openapi.json')).toBe(1);
  target.paths = ['/v1/responses'];
  target.healthy = false;
  await statusBecomes(url, (status) =>
    expect(status.replicas[0]).toMatchObject({ healthy: false, apis: ['chat'] }),
  );
  target.healthy = true;
  expect(await apisOf(url)).toEqual(['responses']);
  expect(target.askedFor('/openapi.json')).toBe(2);
});

it('forgets what was told when the entry points elsewhere', async () => {
  const [before, after] = [await engine('fastapi', ['/v1/responses']), await engine('pages-only', [])];
  const entry = { id: 'a', engine: 'vllm', models: ['m'] };
  const running = await scheduler([{ ...entry, url: before.url }]);
  expect(await apisOf(running.url)).toEqual(['responses']);
  running.reconfigure(settings([{ ...entry, url: after.url }]));
  expect(await apisOf(running.url)).toEqual(['chat']);
  expect((await statusOf(running.url)).replicas[0]?.url).toBe(after.url);
});

describe('the simulated engine', () => {
  it.each(['vllm', 'sglang', 'llamacpp'] as const)(
    'tells what it serves in the manner of %s',
    async (dialect) => {
      for (const openApi of [true, false]) {
        const sim = await startSimEngine({ dialect, openApi, apis: ['chat', 'responses'] });
        closeAfterTest(() => sim.close());
        const { url } = await scheduler([{ id: 'a', url: sim.url, engine: dialect }]);
        expect(await apisOf(url)).toEqual(['chat', 'responses']);
        expect(sim.state.counters.accepted).toBe(0);
      }
    },
  );
});
