/** Whatever API a request came by and whenever its client leaves, the engine gets everything back. */
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../../../../testkit/sim-engine/core/invariants.ts';
import { createGenerator, nextInteger, pick } from '../../../../testkit/sim-engine/core/random.ts';
import type { SimEngine } from '../../../../testkit/sim-engine/host.ts';
import { engineStarter, postTo, readAll } from '../engine-client.ts';
import { generativeApis } from '../generative-apis.ts';

const start = engineStarter();

interface AnyApi {
  readonly name: string;
  readonly path: string;
  /** A request with a text in it; those that write answer with many tokens. */
  readonly body: (text: string, stream: boolean) => object;
}

const writers: readonly AnyApi[] = generativeApis.map((api) => ({
  name: api.name,
  path: api.path,
  body: (text, stream) => api.ask(`${text} [[sim {"answerTokens":20000}]]`, { stream, maxTokens: 20_000 }),
}));
const readers: readonly AnyApi[] = [
  { name: 'embeddings', path: '/v1/embeddings', body: (text) => ({ input: [text, `also ${text}`] }) },
  { name: 'rerank', path: '/v1/rerank', body: (text) => ({ query: 'x', documents: [text, 'x'] }) },
  { name: 'score', path: '/v1/score', body: (text) => ({ text_1: 'x', text_2: [text, 'x'] }) },
  { name: 'classify', path: '/classify', body: (text) => ({ input: [text, 'x'] }) },
];
const everyApi = [...writers, ...readers];
const apis = [
  'chat',
  'completions',
  'responses',
  'messages',
  'embeddings',
  'rerank',
  'score',
  'classify',
] as const;

/** Sends and leaves as soon as `moment` has come. */
async function leaveAt(engine: SimEngine, api: AnyApi, body: object, moment: () => boolean): Promise<void> {
  const leave = new AbortController();
  const reply = postTo(engine, api.path, body, { signal: leave.signal }).then(readAll);
  await engine.waitFor(() => moment());
  leave.abort();
  await Promise.allSettled([reply]);
  await engine.waitFor(({ counts }) => counts.aborted === 1);
}

function expectNothingLeft(engine: SimEngine): void {
  checkInvariants(engine.state);
  expect([engine.state.live.size, engine.state.pool.unused]).toEqual([0, engine.state.pool.total]);
  const { received, finished, refused, failed, aborted } = engine.counts();
  expect(finished + refused + failed + aborted).toBe(received);
}

const slowPrefill = { prefillTokensPerSecond: 200, chunkTokens: 64, maxRunning: 1 };
const longText = 'rivers of Italy '.repeat(200);

describe.each(everyApi)('a client of $name that leaves', (api) => {
  it('while its prompt is computed gives everything back', async () => {
    const { engine } = await start({ apis, timeScale: 1, engine: slowPrefill });
    await leaveAt(engine, api, api.body(longText, true), () => engine.state.running.length === 1);
    expect(engine.requests()[0]).toMatchObject({ completionTokens: 0, status: null });
    expectNothingLeft(engine);
  });

  it('while it waits in the queue leaves the one before it alone', async () => {
    const { engine } = await start({ apis, timeScale: 1, engine: slowPrefill });
    const leave = new AbortController();
    const before = postTo(engine, '/v1/embeddings', { input: longText }, { signal: leave.signal });
    await engine.waitFor(() => engine.state.running.length === 1);
    const [first] = engine.state.running;
    await leaveAt(engine, api, api.body('x', true), () => engine.state.waiting.size > 0);
    expect(engine.state.running).toEqual([first]);
    expect(engine.state.waiting.size).toBe(0);
    leave.abort();
    await Promise.allSettled([before]);
    await engine.waitFor(({ counts }) => counts.active === 0);
    expectNothingLeft(engine);
  });

  it('while it still sends its body was never at the engine', async () => {
    const { engine } = await start({ apis });
    const socket = connect(engine.port, '127.0.0.1');
    socket.write(`POST ${api.path} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"input": `);
    await engine.waitFor(({ counts }) => counts.active === 1);
    socket.destroy();
    await engine.waitFor(({ counts }) => counts.aborted === 1);
    expect(engine.state.counters.accepted).toBe(0);
    expectNothingLeft(engine);
  });

  it('during a stall is forgotten', async () => {
    const { engine } = await start({ apis });
    engine.failNext({ kind: 'stall' });
    await leaveAt(engine, api, api.body('x', true), () => engine.counts().active === 1);
    expect(engine.state.counters.accepted).toBe(0);
    expectNothingLeft(engine);
  });
});

describe.each(writers)('a client of $name that leaves', (api) => {
  it.each([true, false])('in the middle of the reply gives everything back (stream: %s)', async (stream) => {
    const { engine } = await start({ apis, timeScale: 0.05 });
    const produced = (): boolean => (engine.requests()[0]?.completionTokens ?? 0) > 5;
    await leaveAt(engine, api, api.body('x', stream), produced);
    expect(engine.state.counters).toMatchObject({ accepted: 1, aborted: 1 });
    expectNothingLeft(engine);
  });
});

describe.each(everyApi)('a full engine asked for $name', (api) => {
  it('refuses it and keeps nothing', async () => {
    const { engine } = await start({ apis, timeScale: 1, engine: { ...slowPrefill, maxQueue: 1 } });
    const leave = new AbortController();
    const full = [1, 2].map(async (index) => {
      await postTo(engine, '/classify', { input: `${index} ${longText}` }, { signal: leave.signal });
    });
    await engine.waitFor(() => engine.state.live.size === 2);
    const refused = await postTo(engine, api.path, api.body('x', true));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(engine.state.live.size).toBe(2);
    leave.abort();
    await Promise.allSettled(full);
    await engine.waitFor(({ counts }) => counts.active === 0);
    expectNothingLeft(engine);
  });
});

it('a batch of which the queue takes only a part is refused whole', async () => {
  const { engine } = await start({ apis, timeScale: 1, engine: { ...slowPrefill, maxQueue: 2 } });
  const leave = new AbortController();
  const before = postTo(engine, '/classify', { input: longText }, { signal: leave.signal });
  await engine.waitFor(() => engine.state.running.length === 1);
  const batch = await postTo(engine, '/v1/completions', { prompt: ['a', 'b', 'c'], stream: true });
  expect(batch.status).toBe(503);
  expect(engine.state.live.size).toBe(1);
  leave.abort();
  await Promise.allSettled([before]);
  await engine.waitFor(({ counts }) => counts.active === 0);
  expectNothingLeft(engine);
});

it('the laws hold while requests of every API come, are cut, refused and left at random', async () => {
  const { engine } = await start({
    apis,
    timeScale: 0.02,
    engine: { totalBlocks: 80, maxRunning: 5, maxQueue: 12, jitter: 0.3 },
  });
  const generator = createGenerator(11);
  const kinds = ['drop', 'error', 'rate-limit', 'unavailable', 'cut'] as const;
  const clients = Array.from({ length: 120 }, (_, index) => {
    const api = everyApi[index % everyApi.length];
    const text = 'shared words '.repeat(nextInteger(generator, 0, 40));
    const directive = `[[sim {"answerTokens":${nextInteger(generator, 1, 60)}}]]`;
    const body = api?.body(`${text} ${directive}`, index % 3 > 0) ?? {};
    return {
      path: api?.path ?? '',
      body: JSON.parse(JSON.stringify(body).replaceAll('20000', '60')) as object,
      leave: new AbortController(),
      leavesAfter: nextInteger(generator, 1, 60),
    };
  });
  for (const [index] of clients.entries()) {
    const kind = pick(generator, kinds) ?? 'drop';
    if (index % 10 === 0)
      engine.failNext({ kind }, { match: ({ headers }) => headers['x-client'] === `${index}` });
  }
  const replies = clients.map(async ({ path, body, leave }, index) => {
    const headers = { 'x-client': `${index}` };
    await readAll(await postTo(engine, path, body, { headers, signal: leave.signal }));
  });
  const leaving = clients.map(async ({ leave, leavesAfter }, index) => {
    if (index % 2 === 0) return;
    await engine.waitFor(({ counts }) => counts.received - counts.active >= leavesAfter);
    leave.abort();
  });
  let settled = false;
  const watching = engine.waitFor(({ counts }) => {
    checkInvariants(engine.state);
    return settled && counts.active === 0;
  });
  await Promise.allSettled([...replies, ...leaving]);
  settled = true;
  // The last change may lie before the last client knows of its end.
  await postTo(engine, '/classify', { input: 'the end' });
  await watching;
  expectNothingLeft(engine);
  const { finished, aborted, failed } = engine.counts();
  expect(Math.min(finished, aborted, failed)).toBeGreaterThan(0);
});
