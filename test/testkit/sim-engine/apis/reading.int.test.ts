import { describe, expect, it } from 'vitest';
import { engineStarter, postTo } from '../engine-client.ts';

const start = engineStarter();
const reader = { kind: 'one-shot', classifyMs: 0 } as const;

interface Reply {
  readonly results: readonly { index: number; relevance_score: number }[];
  readonly data: readonly { score: number }[];
}

describe('rerank', () => {
  const body = {
    model: 'sim-small',
    query: 'rivers of Italy',
    documents: ['a proof by induction', 'Italy has rivers', { text: 'the rivers of Italy, all of them' }],
  };

  it.each(['/v1/rerank', '/v2/rerank', '/rerank'])('puts what shares most words first (%s)', async (path) => {
    const { engine } = await start(reader);
    const reply = (await (await postTo(engine, path, body)).json()) as Reply;
    expect(reply).toMatchObject({
      id: expect.stringMatching(/^rerank-/),
      model: 'sim-small',
      results: [
        {
          index: 2,
          document: { text: 'the rivers of Italy, all of them' },
          relevance_score: expect.any(Number),
        },
        { index: 1 },
        { index: 0 },
      ],
    });
    const again = (await (await postTo(engine, path, body)).json()) as Reply;
    expect(again.results).toEqual(reply.results);
    expect(reply.results.every(({ relevance_score: score }) => score > 0 && score < 1)).toBe(true);
  });

  it('gives no more than top_n, and counts the tokens of query and documents', async () => {
    const { engine } = await start(reader);
    const reply: unknown = await (await postTo(engine, '/v1/rerank', { ...body, top_n: 1 })).json();
    const tokens = engine.state.counters.promptTokens;
    expect(reply).toMatchObject({
      results: [{ index: 2 }],
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    });
    expect(tokens).toBeGreaterThan(12);
  });
});

describe('score', () => {
  it('compares one text with several, or as many with as many', async () => {
    const { engine } = await start(reader);
    const score = async (text_1: unknown, text_2: unknown): Promise<readonly number[]> => {
      const response = await postTo(engine, '/v1/score', { text_1, text_2 });
      const reply = (await response.json()) as Reply;
      expect(reply.data).toEqual(
        reply.data.map(({ score: given }, index) => ({ index, object: 'score', score: given })),
      );
      return reply.data.map((entry) => entry.score);
    };
    const [near = 0, far = 1] = await score('rivers of Italy', ['the rivers of Italy', 'a proof']);
    expect(near).toBeGreaterThan(far + 0.5);
    expect(await score(['rivers', 'proof'], ['a proof', 'a proof'])).toHaveLength(2);
    expect(await score('rivers', 'rivers')).toHaveLength(1);
  });

  it.each([
    ['no texts', {}],
    ['two against three', { text_1: ['a', 'b'], text_2: ['a', 'b', 'c'] }],
  ])('refuses %s', async (_name, body) => {
    const { engine } = await start(reader);
    const response = await postTo(engine, '/score', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('text_') } });
  });
});

describe('what reads', () => {
  it('goes through the engine like all else: counted, refused when that is full, cached', async () => {
    const { engine } = await start({
      kind: 'one-shot',
      classifyMs: 0,
      engine: { maxRunning: 2, maxQueue: 1 },
    });
    const input = 'rivers of Italy '.repeat(20);
    expect((await postTo(engine, '/v1/embeddings', { input })).status).toBe(200);
    expect((await postTo(engine, '/classify', { input })).status).toBe(200);
    expect(engine.requests().map(({ cachedTokens }) => cachedTokens)).toEqual([0, 48]);
    const batch = await postTo(engine, '/v1/embeddings', { input: ['a', 'b', 'c', 'd'] });
    expect(batch.status).toBe(400);
    const leave = new AbortController();
    engine.failNext({ kind: 'stall' });
    const held = postTo(engine, '/v1/embeddings', { input: 'x' }, { signal: leave.signal });
    await engine.waitFor(({ counts }) => counts.active === 1);
    leave.abort();
    await expect(held).rejects.toThrow('aborted');
    await engine.waitFor(({ counts }) => counts.aborted === 1);
  });

  it('takes the time of a step, however many are asked at once', async () => {
    const { engine } = await start({ kind: 'one-shot', classifyMs: 40, timeScale: 0 });
    const ask = async (input: string): Promise<number> =>
      (await postTo(engine, '/classify', { input })).status;
    await ask('one');
    const oneMs = engine.state.nowMs;
    expect(oneMs).toBeGreaterThan(40);
    const held = ['a', 'b', 'c'].map(async (input) => await ask(input));
    expect(await Promise.all(held)).toEqual([200, 200, 200]);
    expect(engine.state.nowMs - oneMs).toBeLessThan(3 * 42);
  });

  it('fails as a directive in its text says', async () => {
    const { engine } = await start(reader);
    const input = 'x [[sim {"fault":{"kind":"error","status":502,"times":1}}]]';
    expect((await postTo(engine, '/v1/embeddings', { input })).status).toBe(502);
    expect((await postTo(engine, '/v1/embeddings', { input })).status).toBe(200);
    const documents = ['[[sim {"fault":"unavailable"}]]'];
    expect((await postTo(engine, '/rerank', { query: 'x', documents })).status).toBe(503);
  });
});
