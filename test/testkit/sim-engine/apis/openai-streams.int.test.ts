/** What the official client makes of the streams and bodies of OpenAI's APIs other than chat. */
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import {
  engineStarter,
  eventsOf,
  namedEventsOf,
  postTo,
  readAll,
  type NamedEvent,
} from '../engine-client.ts';

const start = engineStarter();

const lookup: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'lookup',
  strict: false,
  parameters: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
};

/** The response without its ids and without what the client's helper adds to it. */
function withoutIds(response: OpenAI.Responses.Response): unknown {
  const left = (key: string): boolean => !/^(id|call_id|created_at|usage|output_parsed|parsed.*)$/.test(key);
  return JSON.parse(JSON.stringify(response, (key, value: unknown) => (left(key) ? value : undefined)));
}

function responseOf(event: NamedEvent | undefined): OpenAI.Responses.Response {
  if (event?.['response'] === undefined) throw new Error(`no response in ${event?.type ?? 'no event'}`);
  return event['response'] as OpenAI.Responses.Response;
}

describe('responses', () => {
  it.each([
    ['an answer', 'Rivers [[sim {"calls":[],"answerTokens":30}]]', {}],
    ['two calls after a text', 'Rivers [[sim {"calls":[["lookup","lookup"]],"preface":"Well."}]]', {}],
    ['a call alone', 'Rivers [[sim {"calls":["lookup"]}]]', {}],
    ['an answer cut short', 'Rivers [[sim {"calls":[],"answerTokens":30}]]', { max_output_tokens: 7 }],
    ['a call cut short', 'Rivers [[sim {"calls":["lookup"]}]]', { max_output_tokens: 4 }],
  ])('stream %s to the official client as the reply that it gets in one body', async (_, input, more) => {
    const { engine, client } = await start();
    const request = { model: 'sim-small', input, tools: [lookup], ...more };
    const whole = await client.responses.create(request);
    const streamed = await client.responses.stream(request).finalResponse();
    expect(withoutIds(streamed)).toEqual(withoutIds(whole));
    expect(streamed.usage?.output_tokens).toBe(whole.usage?.output_tokens);
    // The client takes its reply from the last event: the items before it must come to the same.
    const { text } = await readAll(await postTo(engine, '/v1/responses', { ...request, stream: true }));
    const events = namedEventsOf(text);
    const done = events.filter(({ type }) => type === 'response.output_item.done');
    expect(done.map((event) => event['output_index'])).toEqual([...done.keys()]);
    expect(done.map((event) => event['item'])).toEqual(responseOf(events.at(-1)).output);
    expect(whole.incomplete_details).toEqual(
      'max_output_tokens' in more ? { reason: 'max_output_tokens' } : null,
    );
  });

  it('are what the deltas and the done events alone add up to', async () => {
    const { engine } = await start();
    const input = 'Rivers [[sim {"calls":[["lookup","lookup"]],"preface":"Let me see."}]]';
    const response = await postTo(engine, '/v1/responses', { input, tools: [lookup], stream: true });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const events = namedEventsOf((await readAll(response)).text);
    expect(events.map((event) => event['sequence_number'])).toEqual([...events.keys()]);
    const inOrder = events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
    const call = [
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
    ];
    expect(inOrder).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      ...call,
      ...call,
      'response.completed',
    ]);
    const joined = (type: string, place: number): string =>
      events
        .filter((event) => event.type === type && event['output_index'] === place)
        .map((event) => event['delta'])
        .join('');
    const { output } = responseOf(events.at(-1));
    expect(joined('response.output_text.delta', 0)).toBe('Let me see.');
    expect(output).toMatchObject([
      { content: [{ text: 'Let me see.' }] },
      { arguments: joined('response.function_call_arguments.delta', 1) },
      { arguments: joined('response.function_call_arguments.delta', 2) },
    ]);
  });

  it('open their stream while they wait in the queue where the engine does so', async () => {
    const { engine } = await start({ timeScale: 1, earlyHeaders: true, engine: { maxRunning: 1 } });
    const leave = new AbortController();
    const ask = async (): Promise<Response> => {
      const body = { input: 'x [[sim {"answerTokens":20000}]]', stream: true };
      return await postTo(engine, '/v1/responses', body, { signal: leave.signal });
    };
    const replies = [await ask(), await ask()];
    await engine.waitFor(() => engine.state.waiting.size === 1 && engine.requests()[1]?.chunksSent === 2);
    const { done, value } = (await replies[1]?.body?.getReader().read()) ?? { done: true };
    expect(done).toBe(false);
    expect(new TextDecoder().decode(value)).toMatch(/^event: response.created\n/);
    expect(engine.requests()[1]).toMatchObject({ completionTokens: 0, status: 200, phase: 'streaming' });
    leave.abort();
    await engine.waitFor(({ counts }) => counts.aborted === 2);
    engine.failNext({ kind: 'cut', afterChunks: 2 });
    const cut = await postTo(engine, '/v1/responses', { input: 'x', stream: true });
    expect(namedEventsOf((await readAll(cut)).text)).toHaveLength(2);
    expect(engine.requests()[2]).toMatchObject({ phase: 'failed', completionTokens: 0 });
    expect(engine.state.live.size).toBe(0);
  });

  it('go on from an earlier one by its id, without its instructions', async () => {
    const { engine, client } = await start();
    const first = await client.responses.create({
      model: 'sim-small',
      instructions: 'Be brief.',
      input: `${'rivers '.repeat(60)} [[sim {"calls":["lookup"]}]]`,
      tools: [lookup],
    });
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('no call');
    const second = await client.responses.create({
      model: 'sim-small',
      previous_response_id: first.id,
      instructions: 'Be brief.',
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'the Rhine' }],
      tools: [lookup],
    });
    expect(second.output_text).toContain('lookup says "the Rhine"');
    expect(second.previous_response_id).toBe(first.id);
    expect(second.usage?.input_tokens_details.cached_tokens).toBeGreaterThan(
      (first.usage?.total_tokens ?? 0) - 18,
    );
    const bare = await client.responses.create({
      model: 'sim-small',
      previous_response_id: second.id,
      input: 'and now?',
    });
    expect(bare.usage?.input_tokens_details.cached_tokens).toBe(0);
    expect(engine.counts().finished).toBe(3);
  });

  it('do not go on from one that was not stored, is unknown, or did not end', async () => {
    const { engine, client } = await start();
    const ask = async (more: object): Promise<OpenAI.Responses.Response> =>
      await client.responses.create({ model: 'sim-small', input: 'x', ...more });
    const kept = await ask({ store: false });
    await expect(ask({ previous_response_id: kept.id })).rejects.toMatchObject({ status: 404 });
    await expect(ask({ previous_response_id: 'resp_none' })).rejects.toMatchObject({ status: 404 });
    engine.failNext({ kind: 'cut', afterChunks: 5 });
    const { text } = await readAll(await postTo(engine, '/v1/responses', { input: 'x', stream: true }));
    const begun = responseOf(namedEventsOf(text)[0]);
    await expect(ask({ previous_response_id: begun.id })).rejects.toMatchObject({ status: 404 });
  });

  it('answer a wanted schema with JSON that fits it', async () => {
    const { client } = await start();
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const reply = await client.responses.create({
      model: 'sim-small',
      input: 'Where?',
      text: { format: { type: 'json_schema', name: 'place', schema } },
    });
    expect(JSON.parse(reply.output_text)).toEqual({ city: expect.any(String) });
  });

  it('call a tool of a namespace with the namespace beside its name', async () => {
    const { client } = await start();
    const reply = await client.responses.create({
      model: 'sim-small',
      input: 'Rivers [[sim {"calls":["lookup"]}]]',
      tools: [
        { type: 'namespace', name: 'mcp__web', description: '', tools: [lookup] },
        { type: 'web_search' },
      ],
    });
    expect(reply.output).toMatchObject([{ type: 'function_call', name: 'lookup', namespace: 'mcp__web' }]);
  });
});

describe('completions', () => {
  it('stream to the official client as the same text as in one body, with usage when asked', async () => {
    const { client } = await start();
    const request = { model: 'sim-small', prompt: 'Once upon a time', max_tokens: 40 };
    const whole = await client.completions.create(request);
    const streamed = await client.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    const rest: unknown[] = [];
    for await (const chunk of streamed) {
      text += chunk.choices[0]?.text ?? '';
      rest.push([chunk.choices[0]?.finish_reason, chunk.usage?.completion_tokens]);
    }
    expect(text).toBe(whole.choices[0]?.text);
    expect(rest.slice(-2)).toEqual([
      [whole.choices[0]?.finish_reason, undefined],
      [undefined, whole.usage?.completion_tokens],
    ]);
  });

  it('end in [DONE] and hold no usage that nobody asked for', async () => {
    const { engine } = await start();
    const response = await postTo(engine, '/v1/completions', { prompt: 'x', stream: true });
    const { text } = await readAll(response);
    expect(eventsOf(text).at(-1)).toBe('[DONE]');
    expect(text).not.toContain('usage');
  });

  it('take several prompts, as texts or as token ids, and stop at 16 tokens by themselves', async () => {
    const { client, engine } = await start();
    const texts = await client.completions.create({ model: 'sim-small', prompt: ['red', 'green'] });
    expect(texts.choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'length'],
      [1, 'length'],
    ]);
    expect(texts.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 32 });
    const ids = await client.completions.create({ model: 'sim-small', prompt: [[1, 2, 3], [4]] });
    expect(ids.usage?.prompt_tokens).toBe(4);
    const single = await client.completions.create({ model: 'sim-small', prompt: [1, 2, 3] });
    expect([single.choices.length, single.usage?.prompt_tokens]).toEqual([1, 3]);
    expect(engine.state.counters.finished).toBe(5);
  });

  it('stream the pieces of several prompts mixed, each to its own choice', async () => {
    const { client } = await start();
    const request = { model: 'sim-small', prompt: ['red', 'green'] };
    const whole = await client.completions.create(request);
    const texts = ['', ''];
    const order: number[] = [];
    for await (const { choices } of await client.completions.create({ ...request, stream: true })) {
      const [choice] = choices;
      if (choice === undefined) continue;
      order.push(choice.index);
      texts[choice.index] += choice.text;
    }
    expect(texts).toEqual(whole.choices.map(({ text }) => text));
    expect(order.join('')).toContain('010101');
  });
});

describe('embeddings', () => {
  it('are the same floats to the official client in both encodings, of length 1', async () => {
    const { client } = await start({ kind: 'one-shot', classifyMs: 0 });
    const request = { model: 'sim-small', input: ['a river in spring', 'the law of large numbers'] };
    // Without a format of its own the client asks for base64 and decodes it.
    const decoded = await client.embeddings.create(request);
    const floats = await client.embeddings.create({ ...request, encoding_format: 'float' });
    const encoded = await client.embeddings.create({ ...request, encoding_format: 'base64' });
    expect(encoded.data[0]?.embedding).toEqual(expect.any(String));
    for (const [index, { embedding }] of floats.data.entries()) {
      expect(embedding).toHaveLength(64);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 10);
      const other = decoded.data[index]?.embedding ?? [];
      expect(other).toHaveLength(64);
      for (const [place, value] of embedding.entries()) expect(other[place]).toBeCloseTo(value, 6);
    }
    expect(floats.usage).toMatchObject({ prompt_tokens: 10, total_tokens: 10 });
  });

  it('lie closer for texts that share words, and are shorter when that is asked for', async () => {
    const { client } = await start({ kind: 'one-shot', classifyMs: 0 });
    const input = ['rivers of northern Italy', 'the rivers of Italy', 'a proof by induction'];
    const { data } = await client.embeddings.create({ model: 'sim-small', input, encoding_format: 'float' });
    const vectors = data.map(({ embedding }) => embedding);
    const likeness = (one: number, other: number): number =>
      (vectors[one] ?? []).reduce((sum, value, index) => sum + value * (vectors[other]?.[index] ?? 0), 0);
    expect(likeness(0, 1)).toBeGreaterThan(likeness(0, 2) + 0.3);
    const short = await client.embeddings.create({
      model: 'sim-small',
      input: [1, 2, 3],
      dimensions: 8,
      encoding_format: 'float',
    });
    expect(short.data.map(({ embedding }) => embedding.length)).toEqual([8]);
    const tooLong = client.embeddings.create({ model: 'sim-small', input: 'x', dimensions: 65 });
    await expect(tooLong).rejects.toMatchObject({ status: 400 });
  });
});
