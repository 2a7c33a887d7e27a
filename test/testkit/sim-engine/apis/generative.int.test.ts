import { describe, expect, it } from 'vitest';
import { engineStarter, postTo, readAll } from '../engine-client.ts';
import { generativeApis, replyTo, toolApis } from '../generative-apis.ts';

const start = engineStarter();

describe.each(generativeApis)('$name', (api) => {
  it('answers word for word what a directive says, with its tokens counted', async () => {
    const { engine } = await start();
    const reply = await replyTo(engine, api, api.ask('x [[sim {"answer":"one two three"}]]'));
    expect(api.facts(reply)).toMatchObject({ text: 'one two three', outputTokens: 3, stop: api.stops[0] });
    expect(engine.requests()).toMatchObject([{ path: api.path, completionTokens: 3, phase: 'finished' }]);
  });

  it('ends at the limit of tokens and says so', async () => {
    const { engine } = await start();
    const body = api.ask('x [[sim {"answer":"one two three"}]]', { maxTokens: 2 });
    expect(api.facts(await replyTo(engine, api, body))).toMatchObject({
      text: 'one two',
      outputTokens: 2,
      stop: api.stops[2],
    });
  });

  it('finds more in the cache with every turn of a conversation', async () => {
    const { engine } = await start();
    let body = api.ask(`${'and rivers '.repeat(30)} [[sim {"calls":[],"answerTokens":40}]]`);
    let total = 0;
    for (let turn = 0; turn < 4; turn += 1) {
      const reply = await replyTo(engine, api, body);
      const facts = api.facts(reply);
      // All of the last turn but its unfilled block and its last token.
      expect(facts.cachedTokens).toBeGreaterThan(total - 18);
      expect(facts.cachedTokens).toBeLessThanOrEqual(total);
      expect(facts.promptTokens).toBeGreaterThan(total);
      total = facts.promptTokens + facts.outputTokens;
      body = api.next(body, reply, 'Go on and tell me more of them.');
    }
  });

  it('refuses what it cannot read in its own shape and keeps nothing of it', async () => {
    const { engine } = await start();
    for (const body of ['{oops', {}, api.ask('[[sim {"cals":[]}]]')]) {
      const response = await postTo(engine, api.path, body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject(api.badRequest);
    }
    expect((await postTo(engine, api.path, { ...api.ask('x'), model: 'claude-other' })).status).toBe(404);
    expect((await postTo(engine, api.path, api.ask('word '.repeat(40_000)))).status).toBe(400);
    expect(engine.counts()).toMatchObject({ refused: 5, active: 0 });
    expect(engine.state.counters.accepted).toBe(0);
  });

  it('breaks off its stream after so many events, and a body within it', async () => {
    const { engine } = await start();
    const cut = async (stream: boolean): Promise<{ text: string; broken: boolean }> => {
      const body = api.ask('x [[sim {"fault":{"kind":"cut","afterChunks":3}}]]', { stream });
      return await readAll(await postTo(engine, api.path, body));
    };
    const streamed = await cut(true);
    expect([streamed.broken, streamed.text.split('\n\n').filter(Boolean).length]).toEqual([true, 3]);
    const whole = await cut(false);
    expect(whole.broken).toBe(true);
    expect(() => JSON.parse(whole.text) as unknown).toThrow(SyntaxError);
    expect(engine.counts()).toMatchObject({ failed: 2, active: 0 });
    expect(engine.state.live.size).toBe(0);
  });

  it('fails as it is told: refused, overloaded, dropped, and once only', async () => {
    const { engine } = await start();
    engine.failNext({ kind: 'rate-limit', retryAfterSeconds: 9 });
    const limited = await postTo(engine, api.path, api.ask('x'));
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '9']);
    engine.failNext({ kind: 'unavailable' });
    expect((await postTo(engine, api.path, api.ask('x'))).status).toBe(503);
    engine.failNext({ kind: 'error', status: 500 });
    expect((await postTo(engine, api.path, api.ask('x', { stream: true }))).status).toBe(500);
    engine.failNext({ kind: 'drop' });
    await expect(postTo(engine, api.path, api.ask('x'))).rejects.toThrow('fetch failed');
    const once = api.ask('x [[sim {"fault":{"kind":"error","status":502,"times":1}}]]');
    expect((await postTo(engine, api.path, once)).status).toBe(502);
    expect((await postTo(engine, api.path, once)).status).toBe(200);
  });

  it('tells nothing of its cache when the engine does not report it', async () => {
    const { engine } = await start({ reportCachedTokens: false });
    const body = api.ask('rivers '.repeat(100));
    await replyTo(engine, api, body);
    const again = JSON.stringify(await replyTo(engine, api, body));
    expect(engine.requests().at(-1)?.cachedTokens).toBeGreaterThan(80);
    expect(again).not.toMatch(/cached_tokens":[1-9]|cache_read/);
  });
});

describe.each(toolApis)('tools over $name', (api) => {
  const task = 'Rivers [[sim {"calls":[["lookup","lookup"],"lookup"],"preface":"Let me see."}]]';

  it('are called turn by turn, side by side, after what the model says first', async () => {
    const { engine } = await start();
    let body = api.withTool(api.ask(task));
    const first = await replyTo(engine, api, body);
    expect(api.facts(first)).toMatchObject({
      text: 'Let me see.',
      calls: [
        { name: 'lookup', arguments: '{"topic":"Rivers"}' },
        { name: 'lookup', arguments: '{"topic":"Rivers"}' },
      ],
      stop: api.stops[1],
    });
    expect(new Set(api.facts(first).calls.map(({ id }) => id)).size).toBe(2);
    body = api.next(body, first, 'found it');
    const second = await replyTo(engine, api, body);
    expect(api.facts(second).calls).toHaveLength(1);
    // A reply with calls that is sent back has the tokens that it had when it was produced.
    const total = api.facts(first).promptTokens + api.facts(first).outputTokens;
    expect(api.facts(second).cachedTokens).toBeGreaterThan(total - 18);
    const last = await replyTo(engine, api, api.next(body, second, 'found that'));
    expect(api.facts(last)).toMatchObject({ calls: [], stop: api.stops[0] });
    expect(api.facts(last).text).toContain('found it');
    expect(api.facts(last).text).toContain('found that');
  });

  it('keep short ids where the engine gives those', async () => {
    const { engine } = await start({ callIds: 'short' });
    const reply = await replyTo(engine, api, api.withTool(api.ask(task)));
    expect(api.facts(reply).calls.map(({ id }) => id)).toEqual(['call_0', 'call_1']);
  });
});

it('one conversation has the same tokens over every API with messages, and finds them in the cache', async () => {
  const { engine } = await start();
  const text = `${'shared words '.repeat(40)} [[sim {"calls":["lookup"]}]]`;
  const facts = [];
  for (const api of toolApis) {
    const body = api.ask(text);
    facts.push(api.facts(await replyTo(engine, api, body)));
  }
  expect(new Set(facts.map(({ promptTokens }) => promptTokens)).size).toBe(1);
  expect(facts.map(({ cachedTokens }) => cachedTokens > 80)).toEqual([false, true, true]);
});
