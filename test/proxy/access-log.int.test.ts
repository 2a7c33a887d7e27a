/** The access log of a real proxy: every kind of end of a request leaves exactly one line. */
import { once } from 'node:events';
import { connect } from 'node:net';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { createAccess } from '../../auth/access.ts';
import type { Proxy } from '../../proxy/create-proxy.ts';
import {
  chat,
  chatBody,
  chatPath,
  chunk,
  post,
  sse,
  startStack,
  until,
  untilGauge,
  usageChunk,
  type Stack,
} from './stack.ts';

const token = 'the-token-of-this-test';
const prompt = 'words that only the engine may see';
const said = { messages: [{ role: 'user', content: prompt }] };
const named = {
  'x-fermata-run-id': 'run-1',
  'x-fermata-caller': 'me',
  'x-fermata-class': 'batch',
  authorization: `Bearer ${token}`,
};

type Line = Readonly<Record<string, unknown>>;

interface End {
  readonly what: string;
  readonly options?: Parameters<typeof startStack>[0];
  /** Makes one request and sees to it that it ends. */
  readonly request: (stack: Stack) => Promise<unknown>;
  readonly line: Line;
}

const finished = (toolCalls: boolean): object => ({
  choices: [
    {
      index: 0,
      finish_reason: toolCalls ? 'tool_calls' : 'stop',
      message: {
        role: 'assistant',
        content: 'ok',
        ...(toolCalls
          ? { tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }] }
          : {}),
      },
    },
  ],
  usage: {
    prompt_tokens: 7,
    completion_tokens: 3,
    total_tokens: 10,
    prompt_tokens_details: { cached_tokens: 4 },
  },
});

async function send(stack: Stack, more: Record<string, unknown> = {}): Promise<unknown> {
  return await chat(stack.proxy, { ...said, ...more }, named);
}

/** Writes bytes as they are and reads until the connection closes. */
async function raw(proxy: Proxy, ...pieces: string[]): Promise<string> {
  const socket = connect(proxy.port, '127.0.0.1');
  let text = '';
  socket.on('data', (data: Buffer) => (text += data.toString('latin1')));
  socket.on('error', () => {});
  for (const piece of pieces) socket.write(piece);
  await once(socket, 'close');
  return text;
}

const known = {
  run: expect.any(String) as unknown,
  caller: 'me',
  class: 'batch',
  model: 'm-test',
  api: 'chat',
};
const admitted = { ...known, turn: expect.any(String) as unknown, replica: 'engine-0', attempts: 1 };

const turns: readonly End[] = [
  {
    what: 'a whole reply',
    request: async (stack) => {
      stack.engine.answer((call) => call.json(200, finished(false)));
      await send(stack);
    },
    line: { ...admitted, status: 200, outcome: 'done', tokensIn: 7, cached: 4, tokensOut: 3, reason: null },
  },
  {
    what: 'a reply that ends in tool calls',
    request: async (stack) => {
      stack.engine.answer((call) => call.json(200, finished(true)));
      await send(stack);
    },
    line: { ...admitted, status: 200, outcome: 'paused', reason: null },
  },
  {
    what: 'a stream',
    request: async (stack) => {
      const client = post(stack.proxy, chatPath, chatBody({ ...said, stream: true }), named);
      const call = await stack.engine.next();
      call.head(200);
      call.write(sse(chunk({ content: 'hi' }), chunk({}, 'stop'), usageChunk, '[DONE]'));
      call.end();
      await until(() => client.ended() === 'whole', 'the reply has ended');
    },
    line: { ...admitted, status: 200, outcome: 'done', tokensIn: 11, tokensOut: 2, reason: null },
  },
  {
    what: 'an engine that refuses the request',
    request: async (stack) => {
      stack.engine.answer((call) => call.json(400, { error: { message: 'too long' } }));
      await send(stack);
    },
    line: { ...admitted, status: 400, outcome: 'failed', reason: expect.stringContaining('400') as unknown },
  },
  {
    what: 'an engine that is overloaded',
    request: async (stack) => {
      stack.engine.answer((call) => call.json(429, { error: { message: 'busy' } }));
      await send(stack);
    },
    line: { ...admitted, status: 429, outcome: 'refused', reason: expect.stringContaining('429') as unknown },
  },
  {
    what: 'an engine that cannot be reached',
    request: async (stack) => {
      await stack.engine.close();
      await send(stack);
    },
    line: {
      ...admitted,
      status: 502,
      outcome: 'failed',
      reason: expect.stringContaining('engine-0') as unknown,
    },
  },
  {
    what: 'an engine that breaks off its stream',
    request: async (stack) => {
      const client = post(stack.proxy, chatPath, chatBody({ ...said, stream: true }), named);
      const call = await stack.engine.next();
      call.head(200);
      call.write(sse(chunk({ content: 'hi' })));
      await until(() => client.text() !== '', 'a chunk has come');
      call.reset();
      await until(() => client.ended() === 'cut', 'the client is cut');
    },
    line: { ...admitted, status: 200, outcome: 'failed', reason: expect.any(String) as unknown },
  },
  {
    what: 'a client that leaves while its turn is held',
    options: { rule: () => null },
    request: async (stack) => {
      const client = post(stack.proxy, chatPath, chatBody(said), named);
      await until(() => stack.scheduler.held() === 1, 'the turn is held');
      client.leave();
      await until(() => stack.scheduler.held() === 0, 'the turn is given up');
    },
    line: { ...known, status: 0, outcome: 'abandoned', replica: null, reason: 'the client left' },
  },
  {
    what: 'a client that leaves its stream',
    request: async (stack) => {
      const client = post(stack.proxy, chatPath, chatBody({ ...said, stream: true }), named);
      const call = await stack.engine.next();
      call.head(200);
      call.write(sse(chunk({ content: 'hi' })));
      await until(() => client.text() !== '', 'a chunk has come');
      client.leave();
      await until(() => stack.scheduler.places() === 0, 'the turn has ended');
    },
    line: { ...admitted, status: 200, outcome: 'failed', reason: 'the client left' },
  },
  {
    what: 'a client that sends no HTTP after its request',
    request: async (stack) => {
      const body = chatBody(said);
      const head = `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\nx-fermata-caller: me\r\nx-fermata-class: batch\r\n\r\n`;
      const reply = raw(stack.proxy, head + body, 'no HTTP\r\n\r\n');
      expect(await reply).toBe('');
      await until(() => stack.scheduler.places() === 0, 'the turn has ended');
    },
    line: { caller: 'me', class: 'batch', status: 0, reason: 'the client left' },
  },
  {
    what: 'a run that is ended while its turn is held',
    options: { rule: (spec) => ({ type: 'reject', turn: spec.turn, code: 'run_ended' }) },
    request: async (stack) => await send(stack),
    line: { ...known, status: 409, outcome: 'rejected', reason: expect.stringContaining('ended') as unknown },
  },
  {
    what: 'a model that nobody serves',
    request: async (stack) => await send(stack, { model: 'm-none' }),
    line: {
      ...known,
      model: 'm-none',
      status: 404,
      outcome: 'rejected',
      reason: expect.stringContaining('m-none') as unknown,
    },
  },
  {
    what: 'too many held turns',
    options: { limits: { heldTurns: 0 } },
    request: async (stack) => await send(stack),
    line: { ...known, status: 503, outcome: 'rejected', reason: expect.stringContaining('held') as unknown },
  },
  {
    what: 'a caller over its limit',
    options: { rateLimits: { me: { inputTokensPerMinute: 1 } } },
    request: async (stack) => await send(stack),
    line: {
      ...known,
      status: 400,
      outcome: 'rejected',
      reason: expect.stringContaining('can never pass') as unknown,
    },
  },
];

const refusals: readonly End[] = [
  {
    what: 'a body that is no JSON',
    request: async ({ proxy }) => await post(proxy, chatPath, '{"model":', named).head,
    line: {
      api: 'chat',
      status: 400,
      outcome: 'rejected',
      reason: expect.stringContaining('JSON') as unknown,
    },
  },
  {
    what: 'a header that cannot be',
    request: async ({ proxy }) =>
      await post(proxy, chatPath, chatBody(), { 'x-fermata-class': 'first' }).head,
    line: {
      api: 'chat',
      status: 400,
      outcome: 'rejected',
      reason: expect.stringContaining('x-fermata-class') as unknown,
    },
  },
  {
    what: 'a body that is too large',
    options: { limits: { bodyBytes: 10 } },
    request: async ({ proxy }) => await post(proxy, chatPath, chatBody(), named).head,
    line: { api: 'chat', status: 413, outcome: 'rejected', reason: expect.any(String) as unknown },
  },
  {
    what: 'a client that leaves amid its body',
    request: async ({ proxy }) => {
      const head = `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{`;
      const socket = connect(proxy.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(head);
      await untilGauge(proxy, 'fermata_proxy_held', 0);
      socket.destroy();
      await once(socket, 'close');
    },
    line: { api: 'chat', outcome: 'rejected', reason: expect.any(String) as unknown },
  },
  {
    what: 'a client that says it is done amid its body',
    request: async ({ proxy }) => {
      const socket = connect(proxy.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.end(`POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{`);
      socket.resume();
      await once(socket, 'close');
    },
    line: { api: 'chat', status: 400, outcome: 'rejected', reason: expect.any(String) as unknown },
  },
  {
    what: 'a body that is no HTTP',
    request: async ({ proxy }) => {
      const head = `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n`;
      expect(await raw(proxy, `${head}5\r\nhello\r\nZZ\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
    },
    line: { api: 'chat', status: 400, outcome: 'rejected', reason: expect.any(String) as unknown },
  },
  {
    what: 'a head that is no HTTP',
    request: async ({ proxy }) => expect(await raw(proxy, 'hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /),
    line: {
      api: 'unknown',
      status: 400,
      outcome: 'rejected',
      reason: expect.stringContaining('HTTP') as unknown,
    },
  },
  {
    what: 'an address that cannot be read',
    request: async ({ proxy }) =>
      expect(
        await raw(proxy, 'GET /v1/%ff HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'),
      ).toContain('invalid_request'),
    line: { api: 'unknown', status: 400, outcome: 'rejected', reason: expect.any(String) as unknown },
  },
  {
    what: 'an endpoint that does not exist',
    request: async ({ proxy }) =>
      await fetch(`${proxy.url}/v1/nothing?key=${token}`, { method: 'POST', body: prompt }),
    line: { api: 'unknown', status: 404, outcome: 'rejected', reason: 'no endpoint POST /v1/nothing' },
  },
  {
    what: 'a proxy that stops',
    options: { limits: { drainMs: 10_000, lastBytesMs: 1_000 } },
    request: async (stack) => {
      const busy = post(stack.proxy, chatPath, chatBody({ stream: true }), named);
      const call = await stack.engine.next();
      call.head(200);
      await busy.head;
      void stack.proxy.close();
      const refused = await post(stack.proxy, chatPath, chatBody(said), named).head;
      expect(refused.statusCode).toBe(503);
      busy.leave();
    },
    line: {
      api: 'chat',
      status: 503,
      outcome: 'rejected',
      reason: expect.stringContaining('stopping') as unknown,
    },
  },
];

const others: readonly End[] = [
  {
    what: 'the list of models',
    request: async ({ proxy }) => await fetch(`${proxy.url}/v1/models`, { headers: named }),
    line: { api: 'models', status: 200, outcome: 'done', caller: 'me', reason: null },
  },
  {
    what: 'a run that is asked for',
    request: async ({ proxy }) => await fetch(`${proxy.url}/v1/runs/${'r'.repeat(128)}`),
    line: {
      api: 'runs',
      status: 404,
      outcome: 'rejected',
      runName: 'r'.repeat(128),
      reason: expect.stringContaining('no live run') as unknown,
    },
  },
  {
    what: 'a count of tokens',
    options: {},
    request: async (stack) => {
      stack.engine.answer((call) => call.json(200, { input_tokens: 5 }));
      const body = JSON.stringify({ model: 'm-test', max_tokens: 1, ...said });
      await post(stack.proxy, '/v1/messages/count_tokens', body, named).head;
    },
    line: { api: 'count_tokens', caller: 'me', model: 'm-test' },
  },
];

/** The lines that a request left, once the proxy has ended all it had. */
async function linesOf({ options, request }: End): Promise<{ lines: Line[]; text: string }> {
  const stack = await startStack(options ?? {});
  await request(stack);
  await stack.proxy.close();
  const lines = stack.log.filter((line) => 'api' in line);
  return { lines, text: JSON.stringify(stack.log) };
}

const fields = [
  'run',
  'runName',
  'runBy',
  'trace',
  'turn',
  'caller',
  'class',
  'model',
  'replica',
  'api',
  'status',
  'heldMs',
  'firstByteMs',
  'totalMs',
  'tokensIn',
  'cached',
  'tokensOut',
  'outcome',
  'attempts',
  'reason',
];
const pinoFields = ['level', 'time', 'pid', 'hostname', 'msg'];

describe('exactly one line, with all its fields, is left by', () => {
  it.each([...turns, ...refusals, ...others])('$what', async (end) => {
    const { lines, text } = await linesOf(end);
    const own = lines.filter((line) => end.what !== 'a proxy that stops' || line['status'] === 503);
    expect(own).toHaveLength(1);
    expect(own[0]).toMatchObject(end.line);
    expect(Object.keys(own[0] ?? {}).toSorted()).toEqual([...pinoFields, ...fields].toSorted());
    expect(text).not.toContain(token);
    expect(text).not.toContain(prompt);
  });

  it('a request without a known token, which it does not tell', async () => {
    const access = await createAccess(
      { token: 'another-token-1234', tokensFile: null },
      { logger: pino({ level: 'silent' }) },
    );
    for (const request of [
      async (stack: Stack) => await send(stack),
      async ({ proxy }: Stack) => await fetch(`${proxy.url}/v1/models`, { headers: named }),
    ]) {
      const { lines, text } = await linesOf({ what: '', options: { access }, request, line: {} });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatchObject({ status: 401, outcome: 'rejected', caller: null });
      expect(lines[0]?.['reason']).not.toBeNull();
      expect(text).not.toContain(token);
    }
  });
});

it('probes and scrapes leave no line, there are too many of them', async () => {
  const stack = await startStack();
  for (const path of ['/metrics', '/healthz', '/readyz'])
    await (await fetch(`${stack.proxy.url}${path}`)).text();
  await stack.proxy.close();
  expect(stack.log.filter((line) => 'api' in line)).toEqual([]);
});

it('a hundred requests on a few connections leave a hundred lines, each of its own turn', async () => {
  const stack = await startStack();
  stack.engine.answer((call) => call.json(200, finished(false)));
  const worker = async (first: number): Promise<void> => {
    for (let number = first; number < first + 10; number++) {
      const response = await fetch(`${stack.proxy.url}${chatPath}`, {
        method: 'POST',
        headers: { 'x-fermata-run-id': `run-${number}` },
        body: chatBody(said),
      });
      await response.text();
    }
  };
  await Promise.all(Array.from({ length: 10 }, async (_, index) => await worker(index * 10)));
  await stack.proxy.close();
  const lines = stack.log.filter((line) => line['msg'] === 'turn');
  expect(lines).toHaveLength(100);
  expect(new Set(lines.map((line) => line['turn'])).size).toBe(100);
  expect(new Set(lines.map((line) => line['runName'])).size).toBe(100);
});
