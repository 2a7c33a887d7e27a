import { afterEach, describe, expect, it } from 'vitest';
import type { UpstreamFailure } from '../../../activities/model-turn/classify-failure.ts';
import {
  createModelClient,
  type ModelClient,
  type TurnReply,
  type TurnRequest,
} from '../../../activities/model-turn/model-client.ts';
import { ModelTurnError } from '../../../activities/model-turn/model-turn-error.ts';
import { chunk, doneEvent, startFakeModel, usageChunk, type FakeModel, type Script } from '../fake-model.ts';

const request: TurnRequest = {
  runId: 'run_1',
  turn: 4,
  class: 'batch',
  caller: 'tests',
  traceparent: '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01',
  model: 'm',
  maxTokens: 64,
  messages: [{ role: 'user', content: 'hello' }],
  tools: [
    {
      name: 'kit__lookup',
      server: 'kit',
      serverTool: 'lookup',
      description: 'Looks up.',
      inputSchema: { type: 'object', properties: { topic: { type: 'string' } } },
      annotations: {},
    },
  ],
};

let model: FakeModel | undefined;
let client: ModelClient | undefined;
afterEach(async () => {
  await client?.close();
  await model?.close();
});

async function stream(script: Script, signal = new AbortController().signal): Promise<TurnReply> {
  model = await startFakeModel(script);
  client = createModelClient(model.url);
  return await client.stream(request, signal);
}

async function failure(script: Script): Promise<UpstreamFailure> {
  const error: unknown = await stream(script).catch((reason: unknown) => reason);
  if (!(error instanceof ModelTurnError)) throw new Error(`no model turn error: ${String(error)}`);
  return error.failure;
}

describe('a model turn', () => {
  it('sends who it is, the transcript and the tools, and nothing twice', async () => {
    const { reply, heldMs, model: asked } = await stream((turn) => turn.say('hi'));
    expect(reply).toMatchObject({
      content: 'hi',
      finishReason: 'stop',
      promptTokens: 100,
      completionTokens: 10,
      cachedTokens: 60,
    });
    expect([heldMs <= 7, asked]).toEqual([true, 'm']);
    expect(model?.requests).toHaveLength(1);
    expect(model?.requests[0]?.headers).toMatchObject({
      'x-fermata-run-id': 'run_1',
      'x-fermata-turn': '4',
      'x-fermata-class': 'batch',
      'x-fermata-caller': 'tests',
      traceparent: request.traceparent,
    });
    expect(model?.requests[0]?.body).toMatchObject({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 64,
      messages: [{ role: 'user', content: 'hello' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'kit__lookup',
            description: 'Looks up.',
            parameters: request.tools[0]?.inputSchema,
          },
        },
      ],
    });
  });

  it('takes the first model of the pool when none is named, and sets no limit for 0 tokens', async () => {
    model = await startFakeModel((turn) => turn.say('hi'));
    client = createModelClient(model.url);
    const bare = { ...request, model: null, maxTokens: 0, tools: [] };
    const answer = await client.stream(bare, new AbortController().signal);
    expect(answer.model).toBe('fake');
    expect(model.requests[0]?.body).toMatchObject({ model: 'fake' });
    expect(model.requests[0]?.body).not.toHaveProperty('max_tokens');
    expect(model.requests[0]?.body).not.toHaveProperty('tools');
  });
});

describe('a stream that ends early', () => {
  it('is a failure when it is reset inside a call', async () => {
    const broken = await failure((turn) => {
      turn.write(
        chunk({ tool_calls: [{ index: 0, id: 'w', function: { name: 'write', arguments: '{"path":"n' } }] }),
      );
      setImmediate(() => turn.reset());
    });
    expect(broken.kind).toBe('broken-stream');
  });
  it('is a failure when it ends cleanly with half an answer', async () => {
    const broken = await failure((turn) => {
      turn.write(chunk({ content: 'half an ans' }));
      turn.end();
    });
    expect(broken).toEqual({
      kind: 'broken-stream',
      message: 'the stream ended before its reply was complete',
    });
  });
  it('is whole with a finish reason and no [DONE]', async () => {
    const { reply } = await stream((turn) => {
      turn.write(chunk({ content: 'whole' }), chunk({}, 'stop'));
      turn.end();
    });
    expect(reply).toMatchObject({ content: 'whole', finishReason: 'stop' });
  });
  it('is whole with [DONE] and no finish reason, even where that is split between reads', async () => {
    const { reply } = await stream(async (turn) => {
      turn.write(chunk({ content: 'whole' }));
      for (const character of doneEvent) {
        turn.write(character);
        await new Promise((resolve) => setImmediate(resolve));
      }
      turn.end();
    });
    expect(reply).toMatchObject({ content: 'whole', finishReason: null });
  });
  it('is not whole because [DONE] stands in its text', async () => {
    const broken = await failure((turn) => {
      turn.write(chunk({ content: 'say data: [DONE] or\ndata: [DONE]' }));
      turn.end();
    });
    expect(broken.kind).toBe('broken-stream');
  });
});

describe('a failure', () => {
  it('keeps status, code, words and Retry-After of the answer', async () => {
    const body = {
      error: { message: 'Too many turns are held.', type: 'overloaded_error', code: 'overloaded' },
    };
    expect(await failure((turn) => turn.json(503, body, { 'retry-after': '2' }))).toEqual({
      kind: 'status',
      status: 503,
      code: 'overloaded',
      message: expect.stringContaining('Too many turns are held.') as string,
      headers: { retryAfter: '2', retryAfterMs: null },
      refusal: null,
    });
    expect(model?.requests).toHaveLength(1);
  });

  it.each([
    [
      'an error inside the stream',
      `data: ${JSON.stringify({ error: { message: 'out of memory' } })}\n\n`,
      'out of memory',
    ],
    ['an event that is no JSON', 'data: {oops\n\n', ''],
  ])('is a broken stream for %s', async (_name, event, words) => {
    const broken = await failure((turn) => {
      turn.write(chunk({ content: 'a' }), event);
      turn.end();
    });
    expect(broken.kind).toBe('broken-stream');
    expect(broken.message).toContain(words);
  });

  it('is a connection failure when nobody listens', async () => {
    model = await startFakeModel(() => undefined);
    const { url } = model;
    await model.close();
    model = undefined;
    client = createModelClient(url);
    const error: unknown = await client
      .stream(request, new AbortController().signal)
      .catch((reason: unknown) => reason);
    expect((error as ModelTurnError).failure).toMatchObject({
      kind: 'connection',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
  });

  it('is a connection failure too when the proxy dies amid the reply', async () => {
    const failed = failure((turn) => turn.write(chunk({ content: 'half an ans' })));
    await expect.poll(() => model?.requests.length).toBe(1);
    await model?.close();
    expect(await failed).toMatchObject({
      kind: 'connection',
      message: expect.stringContaining('the proxy was lost amid a reply') as string,
    });
  });

  it('is a reply that is too large to keep, which stops the engine', async () => {
    const broken = await failure((turn) => {
      const piece = chunk({ content: 'x'.repeat(100_000) });
      for (let count = 0; count < 12; count += 1) turn.write(piece);
    });
    expect(broken.kind).toBe('too-large');
    await model?.requests[0]?.clientLeft;
  });
});

describe('an abort', () => {
  it('ends the request while it is held', async () => {
    const abort = new AbortController();
    const running = stream(() => undefined, abort.signal);
    await expect.poll(() => model?.requests.length).toBe(1);
    abort.abort();
    await expect(running).rejects.toThrow(/abort/i);
    await model?.requests[0]?.clientLeft;
  });

  it('ends the request in the middle of its stream', async () => {
    const abort = new AbortController();
    await expect(
      stream((turn) => {
        turn.write(chunk({ content: 'some' }), usageChunk);
        setImmediate(() => abort.abort());
      }, abort.signal),
    ).rejects.toThrow(/abort/i);
    await model?.requests[0]?.clientLeft;
  });
});

describe('the end of a run', () => {
  it('is told to the proxy', async () => {
    model = await startFakeModel(() => undefined);
    client = createModelClient(model.url);
    await client.endRun('run_1', new AbortController().signal);
    expect(model.endedRuns).toEqual(['run_1']);
  });
});
