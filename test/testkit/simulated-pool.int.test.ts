import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';

const main = resolve(import.meta.dirname, '../../testkit/simulated-pool-main.ts');
const readySchema = z.strictObject({
  ready: z.literal(true),
  engines: z.array(
    z.strictObject({
      id: z.string(),
      url: z.url(),
      model: z.string(),
      dialect: z.string(),
      kind: z.string(),
    }),
  ),
  toolServer: z.strictObject({ url: z.url() }).nullable(),
});

interface Pool {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ready: Promise<z.infer<typeof readySchema>>;
  readonly ended: Promise<number | null>;
  readonly errors: () => string;
}

const pools: Pool[] = [];
afterEach(async () => {
  for (const { child, ended } of pools.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

function run(config: unknown, how: 'argument' | 'environment' = 'argument'): Pool {
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  const child = spawn(process.execPath, ['--import', 'tsx', main, ...(how === 'argument' ? [text] : [])], {
    env: { ...process.env, ...(how === 'environment' ? { SIMULATED_POOL: text } : {}) },
  });
  let errors = '';
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString('utf8')));
  const ready = new Promise<z.infer<typeof readySchema>>((done, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => {
      done(readySchema.parse(JSON.parse(line)));
    });
    child.once('exit', () => {
      reject(new Error(`ended before it was ready: ${errors}`));
    });
  });
  // A run that is meant to fail has nobody who waits for it to be ready.
  ready.catch(() => undefined);
  const ended = new Promise<number | null>((done) => {
    child.once('close', done);
  });
  const pool = { child, ready, ended, errors: () => errors };
  pools.push(pool);
  return pool;
}

describe('the process of the simulated pool', () => {
  it('without a configuration serves two replicas and the tool server', async () => {
    const { engines, toolServer } = await run({}).ready;
    expect(engines).toMatchObject([
      { id: 'sim-a', model: 'sim-small', dialect: 'vllm', kind: 'generative' },
      { id: 'sim-b', model: 'sim-small', dialect: 'vllm', kind: 'generative' },
    ]);
    for (const { url } of engines) expect((await fetch(`${url}/health`)).status).toBe(200);
    expect(toolServer?.url).toMatch(/\/mcp$/);
    expect((await fetch(toolServer?.url.replace(/mcp$/, 'calls') ?? '')).status).toBe(200);
  });

  it('takes engines of its own from the environment', async () => {
    const pool = run(
      {
        engines: [{ id: 'judge', kind: 'one-shot', labels: ['a', 'b'], model: 'judge-1', timeScale: 0 }],
        toolServer: null,
      },
      'environment',
    );
    const { engines, toolServer } = await pool.ready;
    expect(toolServer).toBeNull();
    const url = engines[0]?.url ?? '';
    const response = await fetch(`${url}/classify`, { method: 'POST', body: '{"input":"a"}' });
    expect(await response.json()).toMatchObject({ model: 'judge-1', data: [{ num_classes: 2 }] });
  });

  it('has one-shot engines that embed, rerank and score, and engines of the APIs that were named', async () => {
    const engine = { timeScale: 0, model: 'reader' };
    const { engines } = await run({
      engines: [
        { id: 'reader', kind: 'one-shot', ...engine },
        { id: 'hidden', apis: ['messages'], openApi: false, ...engine },
      ],
      toolServer: null,
    }).ready;
    const [reader = '', hidden = ''] = engines.map(({ url }) => url);
    const post = async (url: string, body: object): Promise<unknown> =>
      await (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).json();
    expect(await post(`${reader}/v1/embeddings`, { input: 'x' })).toMatchObject({ data: [{ index: 0 }] });
    const documents = ['a', 'b'];
    expect(await post(`${reader}/v1/rerank`, { query: 'a', documents })).toMatchObject({ results: [{}, {}] });
    expect(await post(`${reader}/v1/score`, { text_1: 'a', text_2: 'b' })).toMatchObject({ data: [{}] });
    expect((await fetch(`${hidden}/openapi.json`)).status).toBe(404);
    const statuses = ['messages', 'chat/completions'].map(
      async (path) => (await fetch(`${hidden}/v1/${path}`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([405, 404]);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends cleanly on %s', async (signal) => {
    const pool = run({ engines: [{ id: 'a' }], toolServer: null });
    await pool.ready;
    pool.child.kill(signal);
    expect(await pool.ended).toBe(0);
  });

  it('ends when its stdin closes if it was told so, even with a stream open', async () => {
    const pool = run({ engines: [{ id: 'a' }], toolServer: null, closeWithStdin: true });
    const { engines } = await pool.ready;
    const content = 'x [[sim {"answerTokens":20000}]]';
    const stream = await fetch(`${engines[0]?.url ?? ''}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ stream: true, messages: [{ role: 'user', content }] }),
    });
    expect(stream.status).toBe(200);
    pool.child.stdin.end();
    expect(await pool.ended).toBe(0);
    await expect(stream.text()).rejects.toThrow('terminated');
  });

  it.each([
    ['{oops', 'is not JSON'],
    ['{"engines":[{"id":"a","colour":"red"}]}', 'colour'],
    ['{"engines":[{"id":"a","port":70000}]}', 'engines.0.port'],
  ])('says in one line what is wrong with %s and exits 1', async (text, reason) => {
    const pool = run(text);
    expect(await pool.ended).toBe(1);
    expect(pool.errors()).toContain(reason);
    expect(pool.errors().trim().split('\n')).toHaveLength(1);
  });
});
