/**
 * The official OpenAI client against scheduler, proxy and simulated engine: what an application sees that
 * only changes its base URL, by chat completions and by the Responses API.
 */
import OpenAI, { APIError, NotFoundError, RateLimitError } from 'openai';
import type { ResponseInput } from 'openai/resources/responses/responses';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { configFileSchema } from '../../contracts/config-file.ts';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import { createProxy } from '../../proxy/create-proxy.ts';
import { createScheduler } from '../../scheduler/host/create-scheduler.ts';
import { startSimEngine, type SimEngine } from '../../testkit/sim-engine/host.ts';

const model = 'sim-small';
const parameters = {
  type: 'object',
  properties: { topic: { type: 'string' } },
  required: ['topic'],
  additionalProperties: false,
};
const toolResult = 'It is a heron.';
const runHeader = 'x-fermata-run-id';

let engines: SimEngine[] = [];
let scheduler: Awaited<ReturnType<typeof createScheduler>>;
let proxy: Awaited<ReturnType<typeof createProxy>>;
let client: OpenAI;
beforeAll(async () => {
  engines = await Promise.all(
    [0, 1].map(async () => await startSimEngine({ timeScale: 0.1, callIds: 'short' })),
  );
  const config = configFileSchema.parse({
    pool: engines.map((engine, index) => ({ id: `sim-${index}`, url: engine.url, engine: 'vllm' })),
    callers: { limited: { requestsPerMinute: 1 } },
  });
  const deps = { logger: pino({ level: 'silent' }), environment: {} };
  scheduler = await createScheduler({ ...config, host: '127.0.0.1', port: 0 }, deps);
  proxy = await createProxy({ host: '127.0.0.1', port: 0, schedulerUrl: scheduler.url }, deps);
  client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'unused', maxRetries: 0 });
});
afterAll(async () => {
  await proxy.close();
  await scheduler.close();
  await Promise.all(engines.map(async (engine) => await engine.close()));
});

type Headers = Readonly<Record<string, string>>;

/** What one reply comes to, whichever API brought it. */
interface Reply {
  readonly run: string | null;
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string }[];
}

/** A conversation that a test goes on with; each API has its own. */
interface Talk {
  next(streaming: boolean, headers?: Headers): Promise<Reply>;
  /** Puts the results of the reply's calls at its end. */
  answerCalls(reply: Reply): void;
}

function chatTalk(prompt: string, of = model): Talk {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }];
  const tools = [{ type: 'function' as const, function: { name: 'lookup', parameters } }];
  return {
    async next(streaming, headers = {}) {
      const request = { model: of, messages, tools };
      const { response, completion } = await sendChat(request, streaming, headers);
      const message = completion.choices[0]?.message;
      if (message === undefined) throw new Error('a completion without a choice');
      messages.push(message);
      const calls = (message.tool_calls ?? []).flatMap((call) =>
        call.type === 'function' ? [{ id: call.id, name: call.function.name }] : [],
      );
      return { run: response.headers.get(runHeader), text: message.content ?? '', calls };
    },
    answerCalls({ calls }) {
      for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: toolResult });
    },
  };
}

async function sendChat(
  request: Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>,
  streaming: boolean,
  headers: Headers,
): Promise<{ response: Response; completion: OpenAI.ChatCompletion }> {
  if (!streaming) {
    const { data, response } = await client.chat.completions.create(request, { headers }).withResponse();
    return { response, completion: data };
  }
  let response: Response | null = null;
  // The stream of the client's own helper hides its response: it is caught on its way.
  const watching = client.withOptions({
    fetch: async (url: string | URL | Request, init?: RequestInit) => (response = await fetch(url, init)),
  });
  const completion = await watching.chat.completions.stream(request, { headers }).finalChatCompletion();
  if (response === null) throw new Error('no response came');
  return { response, completion };
}

function responsesTalk(prompt: string, of = model): Talk {
  const input: ResponseInput = [{ role: 'user', content: prompt }];
  const tools = [{ type: 'function' as const, name: 'lookup', parameters, strict: false }];
  return {
    async next(streaming, headers = {}) {
      const request = { model: of, input, tools, store: false };
      const { response, finished } = await sendResponses(request, streaming, headers);
      input.push(...(finished.output as ResponseInput));
      const calls = finished.output.flatMap((item) =>
        item.type === 'function_call' ? [{ id: item.call_id, name: item.name }] : [],
      );
      return { run: response.headers.get(runHeader), text: outputText(finished), calls };
    },
    answerCalls({ calls }) {
      for (const { id } of calls) {
        input.push({ type: 'function_call_output', call_id: id, output: toolResult });
      }
    },
  };
}

function outputText({ output }: OpenAI.Responses.Response): string {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}

async function sendResponses(
  request: OpenAI.Responses.ResponseCreateParamsNonStreaming,
  streaming: boolean,
  headers: Headers,
): Promise<{ response: Response; finished: OpenAI.Responses.Response }> {
  if (!streaming) {
    const { data, response } = await client.responses.create(request, { headers }).withResponse();
    return { response, finished: data };
  }
  const { data, response } = await client.responses
    .create({ ...request, stream: true }, { headers })
    .withResponse();
  let finished: OpenAI.Responses.Response | null = null;
  let deltas = '';
  for await (const event of data) {
    if (event.type === 'response.output_text.delta') deltas += event.delta;
    if (event.type === 'response.completed') finished = event.response;
  }
  if (finished === null) throw new Error('the stream did not complete');
  expect(deltas).toBe(outputText(finished));
  return { response, finished };
}

async function failureOf(action: Promise<unknown>): Promise<APIError> {
  const error: unknown = await action.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof APIError) return error;
  throw error;
}

describe.each([
  ['chat completions', chatTalk],
  ['the Responses API', responsesTalk],
])('the openai package with %s', (api, talk) => {
  describe.each([
    ['streaming', true],
    ['not streaming', false],
  ])('%s', (how, streaming) => {
    it('gets an answer word for word', async () => {
      const reply = await talk('Say it. [[sim {"calls":[],"answer":"A grey heron stands."}]]').next(
        streaming,
      );
      expect(reply).toMatchObject({ text: 'A grey heron stands.', calls: [] });
    });

    it.each([
      ['by the header it sends', true],
      ['without any header', false],
    ])('stays one run over a tool call, recognised %s', async (_by, named) => {
      const name = `${api}, ${how}`.replaceAll(' ', '-');
      const headers: Headers = named ? { [runHeader]: name } : {};
      const conversation = talk(
        `${api} ${how} ${named}: what is it? [[sim {"calls":["lookup"],"answer":"Looked up."}]]`,
      );
      const first = await conversation.next(streaming, headers);
      expect(first.calls.map((call) => call.name)).toEqual(['lookup']);
      conversation.answerCalls(first);
      const second = await conversation.next(streaming, headers);
      expect(second).toMatchObject({ text: 'Looked up.', run: first.run });
      expect(first.run).toMatch(named ? new RegExp(`^${name}$`) : /^run_[A-Za-z0-9]{22}$/);
      // The scheduler hears of the end by another connection than the one that asks it.
      await vi.waitFor(
        async () => {
          const { runs } = schedulerStatusSchema.parse(await (await fetch(`${scheduler.url}/status`)).json());
          const run = runs.find((entry) => entry.run === first.run);
          expect(run).toMatchObject({ turns: 2, pauses: 1, phase: 'idle' });
          expect(run?.replicas).toHaveLength(1);
        },
        { timeout: 20_000 },
      );
    });
  });

  it('is told of an unknown model by the error class it knows', async () => {
    const error = await failureOf(talk('Hello', 'no-such-model').next(false));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ status: 404, code: 'unknown_model' });
    expect(error.message).toContain("no generative replica serves model 'no-such-model'");
  });

  it('is told of a full engine by the error class it knows, with when to come again', async () => {
    const error = await failureOf(
      talk('Hello. [[sim {"fault":{"kind":"rate-limit","retryAfterSeconds":7}}]]').next(false),
    );
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error.headers?.get('retry-after')).toBe('7');
  });

  it('is told of its limit by the error class it knows, with when to come again', async () => {
    const asLimited = { 'x-fermata-caller': 'limited' };
    const ask = async (): Promise<unknown> => await talk('Hello').next(false, asLimited);
    await ask().catch(() => {});
    const error = await failureOf(ask());
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ code: 'rate_limited' });
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(0);
  });
});
