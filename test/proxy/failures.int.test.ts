/** The failure table of the proxy: what the client sees and what the scheduler is told. */
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TurnSpec } from '../../contracts/link-protocol.ts';
import { caseFile } from '../case-file.ts';
import type { ScriptedEngine } from './scripted-engine.ts';
import {
  chat,
  chatBody,
  chatPath,
  chunk,
  post,
  replica,
  sse,
  startStack,
  until,
  type Stack,
} from './stack.ts';
import { streamCase } from './stream-cases.ts';

/** A port that nobody listens on: one that was just given back. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

interface ErrorBody {
  readonly error: { readonly message: string; readonly type: string; readonly code: string };
}

const errorOf = (reply: { json: () => unknown }): ErrorBody['error'] => (reply.json() as ErrorBody).error;

const answerOk = (engine: ScriptedEngine): void => {
  engine.answer((call) =>
    call.json(200, { choices: [{ finish_reason: 'stop', message: { content: 'ok' } }] }),
  );
};

async function outcomes(stack: Stack, count: number): Promise<string[]> {
  await until(() => stack.scheduler.of('turnFinished').length >= count, 'all is reported');
  return stack.scheduler.of('turnFinished').map(({ outcome }) => outcome);
}

describe('an engine that cannot be reached', () => {
  it('is a 502 that names it, at once, and its turn is reported started and failed', async () => {
    const port = await closedPort();
    const stack = await startStack({ pool: () => [replica('engine-0', `http://127.0.0.1:${port}`)] });
    const reply = await chat(stack.proxy);
    expect(reply.status).toBe(502);
    expect(errorOf(reply)).toEqual({
      message: `engine engine-0: connect ECONNREFUSED 127.0.0.1:${port}`,
      type: 'server_error',
      code: 'engine_unreachable',
    });
    expect(reply.headers['x-fermata-replica']).toBe('engine-0');
    expect(await outcomes(stack, 1)).toEqual(['failed']);
    expect(stack.scheduler.of('turnStarted')).toHaveLength(1);
  });

  it('is not noticed when another replica serves the model: the same turn comes again and goes there', async () => {
    const port = await closedPort();
    const stack = await startStack({
      pool: ([only]) => [replica('dead', `http://127.0.0.1:${port}`), replica('alive', only?.url ?? '')],
    });
    answerOk(stack.engine);
    const reply = await chat(stack.proxy);
    expect(reply.status).toBe(200);
    expect(reply.headers['x-fermata-replica']).toBe('alive');
    expect(await outcomes(stack, 2)).toEqual(['failed', 'done']);
    const arrivals = stack.scheduler.of('turnArrived');
    expect(arrivals.map(({ spec }) => spec.turn)).toEqual(Array(2).fill(arrivals[0]?.spec.turn));
    expect(arrivals[0]?.heldForMs).toBe(0);
  });

  it('that closes the connection before its first byte counts as one', async () => {
    const stack = await startStack({ engines: 2 });
    const [first, second] = stack.engines;
    first?.answer((call) => call.reset());
    if (second !== undefined) answerOk(second);
    const reply = await chat(stack.proxy);
    expect(reply.status).toBe(200);
    expect(second?.calls).toHaveLength(1);
  });

  it('is tried no third time', async () => {
    const stack = await startStack({ engines: 3 });
    for (const engine of stack.engines) engine.answer((call) => call.reset());
    const reply = await chat(stack.proxy);
    expect(reply.status).toBe(502);
    expect(stack.engines.map(({ calls }) => calls.length)).toEqual([1, 1, 0]);
    expect(await outcomes(stack, 2)).toEqual(['failed', 'failed']);
  });

  it('is not replaced for a paused run, whose context is there', async () => {
    const stack = await startStack({ engines: 2 });
    const [first, second] = stack.engines;
    let served = 0;
    first?.answer((call) => {
      served += 1;
      if (served > 1) {
        call.reset();
        return;
      }
      const message = { tool_calls: [{ id: 'c', function: { name: 'f' } }] };
      call.json(200, { choices: [{ finish_reason: 'tool_calls', message }] });
    });
    const headers = { 'x-fermata-run-id': 'pinned' };
    await chat(stack.proxy, {}, headers);
    const reply = await chat(stack.proxy, {}, headers);
    expect(reply.status).toBe(502);
    expect(second?.calls).toHaveLength(0);
  });
});

describe('an engine that refuses', () => {
  it.each([
    [400, 'failed'],
    [401, 'failed'],
    [422, 'failed'],
    [429, 'refused'],
    [500, 'refused'],
    [502, 'refused'],
  ])('with %d: status, body and Retry-After unchanged, reported %s', async (status, outcome) => {
    const stack = await startStack();
    const body = '{"error" : {"message":"no", "odd": 1.0}}';
    stack.engine.answer((call) => {
      call.head(status, { 'content-type': 'application/json', 'retry-after': '7' });
      call.write(body);
      call.end();
    });
    const reply = await chat(stack.proxy, { stream: true });
    expect(reply.status).toBe(status);
    expect(reply.text).toBe(body);
    expect(reply.headers['retry-after']).toBe('7');
    expect(await outcomes(stack, 1)).toEqual([outcome]);
    expect(stack.engine.calls).toHaveLength(1);
  });

  it('with 503 has the turn held again three times before the client sees it unchanged', async () => {
    const stack = await startStack({ limits: { queueFullDelayMs: 1 } });
    stack.engine.answer((call) => call.json(503, { error: 'queue full' }, { 'x-engine': 'e' }));
    const reply = await chat(stack.proxy);
    expect(reply.status).toBe(503);
    expect(reply.text).toBe('{"error":"queue full"}');
    expect(reply.headers['x-engine']).toBe('e');
    expect(stack.engine.calls).toHaveLength(4);
    expect(await outcomes(stack, 4)).toEqual(Array(4).fill('refused'));
  });

  it('with 503 once is not noticed', async () => {
    const stack = await startStack({ limits: { queueFullDelayMs: 1 } });
    stack.engine.answer((call) => {
      if (stack.engine.calls.length === 1) call.json(503, {});
      else call.json(200, { choices: [] });
    });
    const reply = await chat(stack.proxy);
    expect(reply.status).toBe(200);
    expect(stack.scheduler.of('turnArrived')).toHaveLength(2);
  });

  it('with a 503 too large to be kept passes it on at once', async () => {
    const stack = await startStack();
    const body = 'x'.repeat(200_000);
    stack.engine.answer((call) => {
      call.head(503, { 'content-type': 'text/plain' });
      call.write(body);
      call.end();
    });
    const reply = await chat(stack.proxy);
    expect([reply.status, reply.text === body, stack.engine.calls.length]).toEqual([503, true, 1]);
  });
});

const s12 = caseFile('S12');

describe(`${s12.id} ${s12.title}`, () => {
  it.each(['S12 a_reset_in_args', 'S12 b_clean_end', 'S04 b_only_comments'])(
    '%s: the chunks so far, then the connection closes; no end is invented',
    async (name) => {
      const stack = await startStack();
      const { writes, ending } = streamCase(name);
      const client = post(stack.proxy, chatPath, chatBody({ stream: true }));
      const call = await stack.engine.next();
      call.head(200);
      for (const write of writes) call.write(write);
      const sent = Buffer.concat(writes).toString('utf8');
      await until(() => client.text() === sent, 'the client has the chunks so far');
      if (ending === 'reset') call.reset();
      else call.end();
      await until(() => client.ended() !== null, 'the connection has closed');
      expect(client.ended()).toBe('cut');
      expect(client.text()).toBe(sent);
      expect(await outcomes(stack, 1)).toEqual(['failed']);
    },
  );

  it.each(['S12 c_unterminated_last', 'S12 d_no_done'])(
    '%s: a finish reason makes it whole',
    async (name) => {
      const stack = await startStack();
      const client = post(stack.proxy, chatPath, chatBody({ stream: true }));
      const call = await stack.engine.next();
      call.head(200);
      const { writes } = streamCase(name);
      for (const write of writes) call.write(write);
      call.end();
      await until(() => client.ended() !== null, 'the reply has ended');
      expect(client.ended()).toBe('whole');
      expect(client.text()).toBe(Buffer.concat(writes).toString('utf8'));
      expect(await outcomes(stack, 1)).toEqual(['done']);
    },
  );

  it('in the middle of a body with a length cuts the client too', async () => {
    const stack = await startStack();
    const client = post(stack.proxy, chatPath, chatBody());
    const call = await stack.engine.next();
    call.head(200, { 'content-type': 'application/json', 'content-length': '100' });
    call.write('{"choices":');
    await until(() => client.text().length > 0, 'the first bytes are there');
    call.reset();
    await until(() => client.ended() !== null, 'the connection has closed');
    expect(client.ended()).toBe('cut');
    expect(await outcomes(stack, 1)).toEqual(['failed']);
  });
});

describe('an engine that sends nothing for longer than streamIdleMs', () => {
  it('before its first byte is a 504', async () => {
    const stack = await startStack({ streamIdleMs: 100 });
    const reply = await chat(stack.proxy, { stream: true });
    expect(reply.status).toBe(504);
    expect(errorOf(reply).code).toBe('engine_idle');
    const call = await stack.engine.next();
    await until(call.aborted, 'the engine request is closed');
    expect(await outcomes(stack, 1)).toEqual(['failed']);
  });

  it('amid its stream cuts the client, and bytes before that kept it alive', async () => {
    const stack = await startStack({ streamIdleMs: 400 });
    const client = post(stack.proxy, chatPath, chatBody({ stream: true }));
    const call = await stack.engine.next();
    call.head(200);
    const event = sse(chunk({ content: 'x' }));
    const startedAt = performance.now();
    while (performance.now() - startedAt < 800) {
      call.write(event);
      const seen = client.chunks.length;
      await until(() => client.chunks.length > seen || client.ended() !== null, 'the chunk has come');
      expect(client.ended()).toBeNull();
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    }
    await until(() => client.ended() !== null, 'the connection has closed');
    expect(client.ended()).toBe('cut');
    await until(call.aborted, 'the engine request is closed');
    expect(await outcomes(stack, 1)).toEqual(['failed']);
  });
});

describe('a request that is refused before any engine', () => {
  it.each<
    [string, { body?: string; headers?: Record<string, string>; path?: string }, number, string, RegExp]
  >([
    ['broken JSON', { body: '{"model":"m-test",' }, 400, 'invalid_json', /the body is not JSON/],
    ['no model', { body: '{"messages":[]}' }, 400, 'invalid_request', /^model: /],
    [
      'messages that are no list',
      { body: '{"model":"m","messages":1}' },
      400,
      'invalid_request',
      /^messages: /,
    ],
    ['a packed body', { headers: { 'content-encoding': 'gzip' } }, 400, 'invalid_request', /gzip/],
    [
      'a bad run id',
      { headers: { 'x-fermata-run-id': '\u00e9' } },
      400,
      'invalid_header',
      /^x-fermata-run-id /,
    ],
    ['a bad class', { headers: { 'x-luftpause-class': 'x' } }, 400, 'invalid_header', /^x-luftpause-class /],
    [
      'an unknown endpoint',
      { path: '/v1/nothing?a=1' },
      404,
      'not_found',
      /^no endpoint POST \/v1\/nothing$/,
    ],
  ])('%s', async (_, { body, headers, path }, status, code, message) => {
    const stack = await startStack();
    const client = post(stack.proxy, path ?? chatPath, body ?? chatBody(), headers);
    const head = await client.head;
    await until(() => client.ended() !== null, 'the reply has ended');
    expect(head.statusCode).toBe(status);
    expect(head.headers['content-type']).toMatch(/^application\/json/);
    const { error } = JSON.parse(client.text()) as ErrorBody;
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(stack.scheduler.messages.filter(({ type }) => type !== 'resync')).toEqual([]);
  });

  it('an unknown model, by the scheduler', async () => {
    const stack = await startStack();
    const reply = await chat(stack.proxy, { model: 'nobody' });
    expect(reply.status).toBe(404);
    expect(errorOf(reply)).toEqual({
      message: "no generative replica serves model 'nobody'",
      type: 'not_found_error',
      code: 'unknown_model',
    });
  });

  it('too many held turns, by the scheduler and by the proxy itself', async () => {
    const stack = await startStack({
      limits: { heldTurns: 1 },
      rule: (spec: TurnSpec) =>
        spec.run === 'first' ? null : { type: 'reject', turn: spec.turn, code: 'overloaded' },
    });
    const refused = await chat(stack.proxy, {}, { 'x-fermata-run-id': 'other' });
    expect([refused.status, errorOf(refused).code]).toEqual([503, 'overloaded']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const held = post(stack.proxy, chatPath, chatBody(), { 'x-fermata-run-id': 'first' });
    await until(() => stack.scheduler.held() === 1, 'the first is held');
    const second = await chat(stack.proxy, {}, { 'x-fermata-run-id': 'second' });
    expect([second.status, errorOf(second).code]).toEqual([503, 'overloaded']);
    held.leave();
  });
});

const s20 = caseFile('S20');
const s20Requests = z
  .object({
    requests: z.array(
      z.looseObject({
        name: z.string(),
        body_bytes: z.union([z.number(), z.literal('limit+1')]).optional(),
        body_utf8: z.string().optional(),
      }),
    ),
  })
  .parse(s20.given).requests;
const s20Status = (name: string): number =>
  z.looseObject({ status: z.number() }).parse(s20.expect[name]).status;
const s20Sized = s20Requests.flatMap(({ name, body_bytes: bytes }) =>
  typeof bytes === 'number' ? [[name, bytes] as const] : [],
);

describe(`${s20.id} ${s20.title}`, () => {
  const body = (bytes: number): string => {
    const empty = chatBody({ pad: '' }).length;
    return chatBody({ pad: 'x'.repeat(bytes - empty) });
  };

  it.each(s20Sized)('%s passes', async (name, bytes) => {
    const stack = await startStack();
    answerOk(stack.engine);
    const client = post(stack.proxy, chatPath, body(bytes));
    expect((await client.head).statusCode).toBe(s20Status(name));
    expect(stack.engine.calls[0]?.body.length).toBe(bytes);
  });

  it('a broken one is told so, as JSON', async () => {
    const stack = await startStack();
    const broken = s20Requests.find(({ name }) => name === 'broken');
    const client = post(stack.proxy, chatPath, broken?.body_utf8 ?? '');
    const head = await client.head;
    await until(() => client.ended() !== null, 'the reply has ended');
    expect(head.statusCode).toBe(s20Status('broken'));
    expect(head.headers['content-type']).toMatch(/^application\/json/);
    expect((JSON.parse(client.text()) as ErrorBody).error.message).not.toBe('');
  });

  it.each([
    ['with its length', {}],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('one byte over the limit, sent %s, is a 413 that says so', async (_, headers) => {
    const stack = await startStack();
    const limit = 32 * 1024 * 1024;
    const client = post(stack.proxy, chatPath, body(limit + 1), headers);
    const head = await client.head;
    await until(() => client.ended() !== null, 'the reply has ended');
    expect(head.statusCode).toBe(s20Status('over_limit'));
    expect(head.headers['content-type']).toMatch(/^application\/json/);
    expect((JSON.parse(client.text()) as ErrorBody).error).toMatchObject({
      code: 'body_too_large',
      message: `the body is larger than ${limit} bytes; send less`,
    });
    expect(stack.scheduler.of('turnArrived')).toEqual([]);
  });

  it('far over the limit is refused, and its connection closed with it', async () => {
    const stack = await startStack({ limits: { bodyBytes: 1_000 } });
    const client = post(stack.proxy, chatPath, body(50_000_000));
    const head = await client.head;
    await until(() => client.ended() !== null, 'the reply has ended');
    expect([head.statusCode, head.headers.connection]).toEqual([413, 'close']);
  });

  it('a head over the limit is refused in the same shape', async () => {
    const stack = await startStack();
    const client = post(stack.proxy, chatPath, chatBody(), { 'x-long': 'x'.repeat(70_000) });
    const head = await client.head;
    await until(() => client.ended() !== null, 'the reply has ended');
    expect(head.statusCode).toBe(400);
    expect((JSON.parse(client.text()) as ErrorBody).error.code).toBe('invalid_header');
  });
});

it('a fault of ours is a 500 that names no inner detail, and the log has it', async () => {
  const stack = await startStack({ pool: () => [replica('engine-0', 'http://[bad')] });
  const reply = await chat(stack.proxy);
  expect([reply.status, errorOf(reply).code]).toEqual([500, 'internal']);
  await until(() => stack.scheduler.places() === 0, 'the place is free');
  expect(stack.log.some((line) => line['msg'] === 'fault')).toBe(true);
});
