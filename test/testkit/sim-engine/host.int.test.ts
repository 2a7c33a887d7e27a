import { createServer } from 'node:http';
import type OpenAI from 'openai';
import type { ChatCompletionTool } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../../../testkit/sim-engine/core/invariants.ts';
import { createGenerator, nextInteger } from '../../../testkit/sim-engine/core/random.ts';
import { startSimEngine, type SimEngine } from '../../../testkit/sim-engine/host.ts';
import { engineStarter, eventsOf, postTo, readAll } from './engine-client.ts';

const start = engineStarter();

const lookup: ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'web__lookup',
    parameters: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
  },
};

async function post(
  engine: SimEngine,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return await postTo(engine, '/v1/chat/completions', body, { headers });
}

const ask = (
  content: string,
  more: object = {},
): { model: string; messages: [{ role: 'user'; content: string }] } => ({
  model: 'sim-small',
  messages: [{ role: 'user', content }],
  ...more,
});

describe('many replies at once', () => {
  it('lose no event: each tells its tool call whole', async () => {
    const { engine } = await start({ timeScale: 0.05 });
    const directive = '[[sim {"calls":["lookup"],"toolArguments":{"lookup":{"topic":"rivers"}}}]]';
    const argumentsOf = async (index: number): Promise<string> => {
      const { text } = await readAll(
        await post(engine, ask(`River ${index} ${directive}`, { stream: true, tools: [lookup] })),
      );
      const chunks = text.split('\n').filter((line) => line.startsWith('data: {'));
      return chunks
        .flatMap((line) => (JSON.parse(line.slice(6)) as OpenAI.ChatCompletionChunk).choices)
        .map(({ delta }) => delta.tool_calls?.[0]?.function?.arguments ?? '')
        .join('');
    };
    const told = await Promise.all(Array.from({ length: 96 }, async (_, index) => await argumentsOf(index)));
    expect(told.filter((text) => text !== '{"topic":"rivers"}')).toEqual([]);
  });
});

describe('chat completions', () => {
  it('stream to the official client as the same reply that it gets in one body', async () => {
    const { client } = await start({ callIds: 'short' });
    const request = ask('Rivers [[sim {"calls":[["lookup","lookup"]]}]]', { tools: [lookup] });
    const whole = await client.chat.completions.create(request);
    const streamed = await client.chat.completions.stream(request).finalChatCompletion();
    expect(whole.choices[0]?.finish_reason).toBe('tool_calls');
    expect(whole.choices[0]?.message.tool_calls?.map((call) => call.id)).toEqual(['call_0', 'call_1']);
    expect(streamed.choices[0]?.message.tool_calls).toMatchObject(whole.choices[0]?.message.tool_calls ?? []);
    const [text] = [await client.chat.completions.create(ask('hello'))];
    const again = await client.chat.completions.stream(ask('hello')).finalChatCompletion();
    expect(again.choices[0]?.message.content).toBe(text?.choices[0]?.message.content);
  });

  it('give every tool call an id that no other has', async () => {
    const { client } = await start();
    const request = ask('Rivers [[sim {"calls":[["lookup","lookup"]]}]]', { tools: [lookup] });
    const replies = [
      await client.chat.completions.create(request),
      await client.chat.completions.create(request),
    ];
    const ids = replies.flatMap((reply) => reply.choices[0]?.message.tool_calls ?? []).map((call) => call.id);
    expect(new Set(ids).size).toBe(4);
  });

  it('split the arguments of a call over several chunks', async () => {
    const { engine } = await start();
    const request = ask('Rivers [[sim {"calls":["lookup"]}]]', { tools: [lookup], stream: true });
    const { text } = await readAll(await post(engine, request));
    expect(text.match(/"arguments":"[^"]/g)?.length).toBeGreaterThan(3);
  });

  it('end a stream with usage only when it was asked for, and report cached tokens', async () => {
    const { engine } = await start();
    const plain = eventsOf((await readAll(await post(engine, ask('a '.repeat(100), { stream: true })))).text);
    expect(plain.at(-1)).toBe('[DONE]');
    expect(plain.join('')).not.toContain('usage');
    const withUsage = ask('a '.repeat(100), { stream: true, stream_options: { include_usage: true } });
    const events = eventsOf((await readAll(await post(engine, withUsage))).text);
    const last = JSON.parse(events.at(-2) ?? '') as { choices: unknown[]; usage: Record<string, unknown> };
    expect(last.choices).toEqual([]);
    expect(last.usage).toMatchObject({
      prompt_tokens: expect.any(Number),
      prompt_tokens_details: { cached_tokens: 96 },
    });
    expect(last.usage['completion_tokens']).toBe(
      events.filter((event) => event.includes('"content":"') && !event.includes('role')).length,
    );
  });

  it('find the whole last turn in the cache when the client sends it back', async () => {
    const { client } = await start();
    const first = ask(`Rivers ${'and streams '.repeat(50)} [[sim {"calls":["lookup"]}]]`, {
      tools: [lookup],
    });
    const reply = await client.chat.completions.create(first);
    const message = reply.choices[0]?.message;
    if (message === undefined) throw new Error('no message');
    const second = await client.chat.completions.create({
      ...first,
      messages: [
        ...first.messages,
        message,
        { role: 'tool', tool_call_id: message.tool_calls?.[0]?.id ?? '', content: 'long' },
      ],
    });
    const cached = second.usage?.prompt_tokens_details?.cached_tokens ?? 0;
    expect(cached).toBeGreaterThan((reply.usage?.total_tokens ?? 0) - 32);
    expect(cached).toBeLessThanOrEqual(reply.usage?.total_tokens ?? 0);
  });

  it('give the likelihood of labels for a request of one token', async () => {
    const { client } = await start();
    const reply = await client.chat.completions.create({
      ...ask('[[sim {"decide":{"A":0.7,"B":0.2}}]] A or B?'),
      max_tokens: 1,
      logprobs: true,
      top_logprobs: 5,
    });
    expect(reply.choices[0]?.message.content).toBe('A');
    const [first] = reply.choices[0]?.logprobs?.content ?? [];
    const likely = first?.top_logprobs.map(({ token, logprob }) => [token, Math.exp(logprob).toFixed(2)]);
    expect(likely).toEqual([
      ['A', '0.70'],
      ['B', '0.20'],
    ]);
    expect(reply.usage?.completion_tokens).toBe(1);
  });
});

describe('errors', () => {
  it.each([
    ['bad JSON', '{oops', 400],
    ['no messages', {}, 400],
    ['a directive that cannot be read', ask('[[sim {"cals":[]}]]'), 400],
    ['an unknown model', { ...ask('x'), model: 'other' }, 404],
    ['a prompt beyond the context', ask('word '.repeat(40_000)), 400],
  ])('%s', async (_name, body, status) => {
    const { engine } = await start();
    const response = await post(engine, body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String), code: status } });
    expect(engine.counts()).toMatchObject({ refused: 1, active: 0 });
  });

  it('a wrong key', async () => {
    const { engine } = await start({ apiKey: 'secret' });
    expect((await post(engine, ask('x'))).status).toBe(401);
    expect((await post(engine, ask('x'), { authorization: 'Bearer secret' })).status).toBe(200);
  });

  it('a full queue is refused with Retry-After while the others go on', async () => {
    const { engine } = await start({ timeScale: 1, engine: { maxRunning: 1, maxQueue: 1 } });
    const leave = new AbortController();
    const long = [1, 2].map(async (index) => {
      const body = JSON.stringify(ask(`${index} [[sim {"answerTokens":20000}]]`));
      return await fetch(`${engine.url}/v1/chat/completions`, { method: 'POST', body, signal: leave.signal });
    });
    await engine.waitFor(() => engine.state.running.length === 1 && engine.state.waiting.size === 1);
    const refused = await post(engine, ask('x'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(engine.counts()).toMatchObject({ active: 2, refused: 1 });
    leave.abort();
    await Promise.allSettled(long);
  });
});

describe('faults', () => {
  it('named by a directive happen on its turn and so often as it says', async () => {
    const { client } = await start();
    const once = ask('x [[sim {"calls":[],"fault":{"kind":"error","status":502,"times":1}}]]');
    await expect(client.chat.completions.create(once)).rejects.toMatchObject({ status: 502 });
    expect((await client.chat.completions.create(once)).choices).toHaveLength(1);
    const later = ask('y [[sim {"calls":[],"fault":{"kind":"rate-limit","turn":1}}]]');
    expect((await client.chat.completions.create(later)).choices).toHaveLength(1);
  });

  it('ordered by the test hit the requests it means, once each', async () => {
    const { engine } = await start();
    engine.failNext({ kind: 'unavailable', retryAfterSeconds: 7 }, { match: ({ runId }) => runId === 'r2' });
    expect((await post(engine, ask('x'), { 'x-fermata-run-id': 'r1' })).status).toBe(200);
    const failed = await post(engine, ask('x'), { 'x-fermata-run-id': 'r2' });
    expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '7']);
    expect((await post(engine, ask('x'), { 'x-fermata-run-id': 'r2' })).status).toBe(200);
  });

  it('can be ordered and seen from another process', async () => {
    const { engine } = await start();
    const ordered = await fetch(`${engine.url}/sim/faults`, {
      method: 'POST',
      body: JSON.stringify({ fault: { kind: 'error', status: 500 }, times: 1 }),
    });
    expect(ordered.status).toBe(200);
    expect((await post(engine, ask('x'))).status).toBe(500);
    const state: unknown = await (await fetch(`${engine.url}/sim/state`)).json();
    expect(state).toMatchObject({ counts: { received: 1, refused: 1 }, requests: [{ status: 500 }] });
  });

  it('cut a stream after exactly so many chunks, without a last one', async () => {
    const { engine } = await start();
    engine.failNext({ kind: 'cut', afterChunks: 4 });
    const { text, broken } = await readAll(await post(engine, ask('x', { stream: true })));
    expect(broken).toBe(true);
    expect(eventsOf(text)).toHaveLength(4);
    expect(text).not.toContain('[DONE]');
    expect(engine.counts()).toMatchObject({ failed: 1, active: 0 });
  });

  it('cut an unstreamed reply within its body', async () => {
    const { engine } = await start();
    engine.failNext({ kind: 'cut' });
    const { text, broken } = await readAll(await post(engine, ask('x')));
    expect(broken).toBe(true);
    expect(text).toMatch(/^\{"id"/);
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  });

  it('drop a connection before any byte', async () => {
    const { engine } = await start();
    engine.failNext({ kind: 'drop' });
    await expect(post(engine, ask('x'))).rejects.toThrow('fetch failed');
    expect(engine.requests()[0]).toMatchObject({ phase: 'failed', status: null });
  });

  it('stall until the client leaves', async () => {
    const { engine } = await start();
    engine.failNext({ kind: 'stall' });
    const leave = new AbortController();
    const reply = fetch(`${engine.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(ask('x')),
      signal: leave.signal,
    });
    await engine.waitFor(({ counts }) => counts.active === 1);
    leave.abort();
    await expect(reply).rejects.toThrow('aborted');
    await engine.waitFor(({ counts }) => counts.aborted === 1);
  });

  it('stall for a while and then answer', async () => {
    const { engine } = await start();
    engine.failNext({ kind: 'stall', stallMs: 20 });
    expect((await post(engine, ask('x'))).status).toBe(200);
  });
});

describe('the hand of a test', () => {
  it('holds a stream open and lets it pass chunk by chunk', async () => {
    const { engine } = await start();
    const held = engine.holdNext();
    const reply = post(engine, ask('x [[sim {"answer":"one two"}]]', { stream: true }));
    const record = await held.arrived;
    await engine.waitFor(() => record.finishReason === 'stop');
    expect(record).toMatchObject({ chunksSent: 0, status: null });
    held.release();
    const reader = (await reply).body?.getReader();
    const decoder = new TextDecoder();
    const next = async (): Promise<string> => decoder.decode((await reader?.read())?.value as Uint8Array);
    expect(await next()).toContain('"role":"assistant"');
    held.release();
    expect(await next()).toContain('"content":"one"');
    expect(record.chunksSent).toBe(2);
    held.releaseAll();
    let rest = '';
    for (let part = await next(); part !== ''; part = await next()) rest += part;
    expect(rest).toContain('"content":" two"');
    expect(rest).toContain('[DONE]');
  });

  it('cuts a held stream', async () => {
    const { engine } = await start();
    const held = engine.holdNext(({ runId }) => runId === 'mine');
    const other = await post(engine, ask('x'));
    expect(other.status).toBe(200);
    const reply = post(engine, ask('x', { stream: true }), { 'x-fermata-run-id': 'mine' });
    await held.arrived;
    held.release(2);
    const response = await reply;
    held.cut();
    const { text, broken } = await readAll(response);
    expect([eventsOf(text).length, broken]).toEqual([2, true]);
  });

  it('sees who asked, what was asked and how it ended', async () => {
    const { engine } = await start();
    await (await post(engine, ask('x'), { 'x-fermata-run-id': 'r1', 'x-fermata-turn': '3' })).text();
    expect(engine.requests()).toMatchObject([
      { runId: 'r1', turn: '3', body: ask('x'), phase: 'finished', status: 200, finishReason: 'stop' },
    ]);
  });

  it('remembers no more than its bound and no body over 64 KiB', async () => {
    const { engine } = await start({ maxRecords: 3 });
    for (let index = 0; index < 5; index += 1) await (await post(engine, ask('x'))).text();
    expect(engine.requests().map(({ number }) => number)).toEqual([3, 4, 5]);
    expect(engine.counts()).toMatchObject({ received: 5, finished: 5 });
    await (await post(engine, ask('word '.repeat(15_000)))).text();
    expect(engine.requests().at(-1)).toMatchObject({ body: null, bodyBytes: expect.any(Number) });
  });

  it('gives up a wait after its time and says what it saw', async () => {
    const { engine } = await start();
    await expect(engine.waitFor(() => false, 10)).rejects.toThrow('10 ms passed: {"received":0');
  });

  it('takes the engine down in three ways and up again on the same port', async () => {
    const { engine } = await start();
    await engine.setAvailability('unhealthy');
    expect((await fetch(`${engine.url}/health`)).status).toBe(503);
    expect((await post(engine, ask('x'))).status).toBe(200);
    await engine.setAvailability('refused');
    await expect(post(engine, ask('x'))).rejects.toThrow('fetch failed');
    await expect(post(engine, ask('x'))).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    await engine.setAvailability('silent');
    await expect(fetch(`${engine.url}/health`, { signal: AbortSignal.timeout(50) })).rejects.toThrow(
      'timeout',
    );
    await engine.setAvailability('up');
    expect((await fetch(`${engine.url}/health`)).status).toBe(200);
  });
});

describe('a client that leaves', () => {
  it('during a stream frees slot and memory at once', async () => {
    const { engine } = await start({ timeScale: 0.05, engine: { maxRunning: 1 } });
    const leave = new AbortController();
    const reply = await fetch(`${engine.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(ask('x [[sim {"answerTokens":20000}]]', { stream: true })),
      signal: leave.signal,
    });
    expect(reply.status).toBe(200);
    leave.abort();
    const record = await engine.waitFor(({ records }) => records.find(({ phase }) => phase === 'aborted'));
    expect(record.abortedAtMs).not.toBeNull();
    expect(engine.state.running).toEqual([]);
    expect(engine.state.pool.unused).toBe(engine.state.pool.total);
    expect((await post(engine, ask('y'))).status).toBe(200);
  });

  it('while it waits in the queue leaves the queue', async () => {
    const { engine } = await start({ engine: { maxRunning: 1 }, timeScale: 1 });
    const leaving = [new AbortController(), new AbortController()];
    const replies = leaving.map(async ({ signal }, index) => {
      const body = JSON.stringify(ask(`${index} [[sim {"answerTokens":20000}]]`, { stream: true }));
      const response = await fetch(`${engine.url}/v1/chat/completions`, { method: 'POST', body, signal });
      await response.text();
    });
    await engine.waitFor(() => engine.state.waiting.size === 1);
    for (const controller of leaving) controller.abort();
    await Promise.allSettled(replies);
    await engine.waitFor(({ counts }) => counts.aborted === 2);
    expect(engine.state.live.size).toBe(0);
  });
});

it('keeps its laws while many clients come, leave and are cut at random', async () => {
  const { engine } = await start({
    timeScale: 0.02,
    engine: { totalBlocks: 60, maxRunning: 5, maxQueue: 30, jitter: 0.3 },
  });
  const generator = createGenerator(7);
  // Every other client leaves, at latest when the 40 that stay have been answered.
  const clients = Array.from({ length: 80 }, () => ({
    controller: new AbortController(),
    leavesAfter: nextInteger(generator, 1, 40),
  }));
  const replies = clients.map(async ({ controller }, index) => {
    const fault = index % 9 === 0 ? ',"fault":{"kind":"cut","afterChunks":3}' : '';
    const task = `${'shared words '.repeat(index % 40)} [[sim {"answerTokens":${20 + index}${fault}}]]`;
    const response = await fetch(`${engine.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(ask(task, { stream: index % 4 < 2 })),
      signal: controller.signal,
    });
    await response.text();
  });
  const leaving = clients.map(async ({ controller, leavesAfter }, index) => {
    if (index % 2 === 0) return;
    await engine.waitFor(({ counts }) => counts.received - counts.active >= leavesAfter);
    controller.abort();
  });
  let settled = false;
  const all = Promise.allSettled([...replies, ...leaving]).then((results) => {
    settled = true;
    return results;
  });
  const watching = engine.waitFor(({ counts }) => {
    checkInvariants(engine.state);
    return settled && counts.active === 0;
  }, 20_000);
  const results = await all;
  // The last change may lie before the last client knows of its end.
  await post(engine, ask('the end'));
  await watching;
  expect(engine.state.live.size).toBe(0);
  expect(results.slice(80).every(({ status }) => status === 'fulfilled')).toBe(true);
  const { received, finished, refused, failed, aborted } = engine.counts();
  expect(finished + refused + failed + aborted).toBe(received);
  expect(finished).toBeGreaterThan(0);
});

describe('what engines tell of themselves', () => {
  const metric = (text: string, name: string): string | undefined =>
    text.split('\n').find((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

  it.each([
    ['vllm', 'vllm:num_requests_running', 'vllm:num_requests_waiting'],
    ['sglang', 'sglang:num_running_reqs', 'sglang:num_queue_reqs'],
    ['llamacpp', 'llamacpp:requests_processing', 'llamacpp:requests_deferred'],
  ] as const)('%s counts running and waiting requests under its own names', async (dialect, runs, waits) => {
    const { engine } = await start({ dialect, timeScale: 1, engine: { maxRunning: 1, totalBlocks: 4_096 } });
    const leave = new AbortController();
    const replies = [1, 2, 3].map(async (index) => {
      const body = JSON.stringify(ask(`${index} [[sim {"answerTokens":20000}]]`));
      return await fetch(`${engine.url}/v1/chat/completions`, { method: 'POST', body, signal: leave.signal });
    });
    await engine.waitFor(({ counts }) => counts.active === 3 && engine.state.waiting.size === 2);
    const text = await (await fetch(`${engine.url}/metrics`)).text();
    expect(metric(text, runs)).toMatch(/ 1\.0$/);
    expect(metric(text, waits)).toMatch(/ 2\.0$/);
    leave.abort();
    await Promise.allSettled(replies);
  });

  it('vllm names its memory in blocks, sglang in tokens, llama.cpp by slot', async () => {
    const memory = { totalBlocks: 100, maxRunning: 4 };
    const { engine: vllm } = await start({ engine: memory });
    const text = await (await fetch(`${vllm.url}/metrics`)).text();
    expect(metric(text, 'vllm:cache_config_info')).toContain('num_gpu_blocks="100"');
    const { engine: sglang } = await start({ engine: memory, dialect: 'sglang' });
    const info: unknown = await (await fetch(`${sglang.url}/get_server_info`)).json();
    expect(info).toMatchObject({ max_total_num_tokens: 1_600 });
    const { engine: llama } = await start({ engine: memory, dialect: 'llamacpp' });
    const slots: unknown = await (await fetch(`${llama.url}/slots`)).json();
    expect(slots).toHaveLength(4);
    expect(slots).toMatchObject([{ id: 0, n_ctx: 400, is_processing: false }, {}, {}, {}]);
    expect((await fetch(`${llama.url}/get_server_info`)).status).toBe(404);
  });

  it('lists the model it serves', async () => {
    const { client } = await start({ model: 'other-model' });
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(['other-model']);
  });
});

describe('a one-shot engine', () => {
  it("classifies in vLLM's shape, by the label that the input names, and serves no chat", async () => {
    const { engine } = await start({ kind: 'one-shot', labels: ['spam', 'ham'] });
    const response = await fetch(`${engine.url}/classify`, {
      method: 'POST',
      body: JSON.stringify({
        model: 'sim-small',
        input: ['this is ham', '[[sim {"decide":{"spam":0.9,"ham":0.1}}]]'],
      }),
    });
    const body = (await response.json()) as { data: { label: string; probs: number[] }[] };
    expect(body.data).toMatchObject([
      { index: 0, label: 'ham', num_classes: 2 },
      { index: 1, label: 'spam', probs: [0.9, 0.1] },
    ]);
    expect((await post(engine, ask('x'))).status).toBe(404);
  });
});

describe('failures to start', () => {
  it('a taken port rejects', async () => {
    const other = createServer();
    const port = await new Promise<number>((resolve) => {
      other.listen(0, '127.0.0.1', () => {
        const address = other.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
    await expect(startSimEngine({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await new Promise((resolve) => {
      other.close(resolve);
    });
  });
});
