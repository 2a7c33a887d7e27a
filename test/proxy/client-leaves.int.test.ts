/** A client may leave, or stop reading, in every phase: nothing is left of its turn afterwards. */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { caseFile } from '../case-file.ts';
import {
  chat,
  chatBody,
  chatPath,
  chunk,
  closeAfterTest,
  post,
  replica,
  sse,
  startStack,
  until,
  type Stack,
  type TestClient,
} from './stack.ts';
import type { EngineCall } from './scripted-engine.ts';

/** No place, no held turn, no turn in the proxy's own books, and a next request goes straight through. */
async function nothingIsLeft(stack: Stack): Promise<void> {
  await until(() => stack.scheduler.places() === 0, 'no place is taken');
  await until(() => stack.scheduler.held() === 0, 'no turn is held');
  const metrics = await (await fetch(`${stack.proxy.url}/metrics`)).text();
  expect(metrics).toMatch(/^fermata_proxy_active 0$/m);
  expect(metrics).toMatch(/^fermata_proxy_held 0$/m);
}

const streaming = chatBody({ stream: true });

const s17 = caseFile('S17');
const s17Phases = z
  .object({ phases: z.array(z.string()) })
  .loose()
  .parse(s17.given).phases;
const s17Each = z
  .object({
    each: z.object({
      upstream_aborted_within_ms: z.number(),
      slot_free_within_ms: z.number(),
      upstream_requests_started_after_drop: z.number(),
    }),
  })
  .loose()
  .parse(s17.expect).each;

/** Brings a turn into a phase; resolves with its client and its engine request, if it has one. */
const phases: Readonly<
  Record<string, (stack: Stack) => Promise<{ client: TestClient; call: EngineCall | null }>>
> = {
  queued: async (stack) => {
    const client = post(stack.proxy, chatPath, streaming, { 'x-fermata-run-id': 'queued' });
    await until(() => stack.scheduler.held() === 1, 'the turn is held');
    return { client, call: null };
  },
  admitted_before_first_byte: async (stack) => {
    const client = post(stack.proxy, chatPath, streaming);
    return { client, call: await stack.engine.next() };
  },
  mid_stream: async (stack) => {
    const client = post(stack.proxy, chatPath, streaming);
    const call = await stack.engine.next();
    call.head(200);
    call.write(sse(chunk({ content: 'a' })));
    await until(() => client.chunks.length > 0, 'the first bytes are there');
    return { client, call };
  },
  non_stream_wait: async (stack) => {
    const client = post(stack.proxy, chatPath, chatBody());
    return { client, call: await stack.engine.next() };
  },
  retry_backoff: async (stack) => {
    const client = post(stack.proxy, chatPath, streaming);
    (await stack.engine.next()).json(503, {}, { 'retry-after': '9' });
    await until(() => stack.scheduler.of('turnFinished').length === 1, 'the refusal is reported');
    return { client, call: null };
  },
};

describe(`${s17.id} ${s17.title}`, () => {
  it.each(s17Phases)('in the phase %s: aborted, freed and not asked again in time', async (phase) => {
    const stack = await startStack({
      rule: (spec) =>
        spec.run === 'queued' ? null : { type: 'admit', turn: spec.turn, replica: 'engine-0' as never },
    });
    const enter = phases[phase];
    if (enter === undefined) throw new Error(`no way into the phase ${phase}`);
    const { client, call } = await enter(stack);
    const before = stack.engine.calls.length;
    client.leave();
    const abortedMs = s17Each.upstream_aborted_within_ms;
    await until(() => call === null || call.aborted(), 'the engine request is closed', abortedMs);
    await until(() => stack.scheduler.places() === 0, 'the place is free', s17Each.slot_free_within_ms);
    await nothingIsLeft(stack);
    expect(stack.engine.calls.length - before).toBe(s17Each.upstream_requests_started_after_drop);
  });

  it('while its turn is held: the turn is abandoned, no engine request is made', async () => {
    const stack = await startStack({ rule: () => null });
    const client = post(stack.proxy, chatPath, streaming);
    await until(() => stack.scheduler.held() === 1, 'the turn is held');
    client.leave();
    await until(() => stack.scheduler.of('turnAbandoned').length === 1, 'the turn is abandoned');
    expect(stack.engine.calls).toHaveLength(0);
    await nothingIsLeft(stack);
    await until(() => stack.log.some((line) => line['outcome'] === 'abandoned'), 'the log says so');
  });

  it('while it is being admitted: the place is given back, no engine request is made', async () => {
    const stack = await startStack({ rule: () => null });
    const client = post(stack.proxy, chatPath, streaming);
    await until(() => stack.scheduler.held() === 1, 'the turn is held');
    client.leave();
    const turn = stack.scheduler.of('turnArrived')[0]?.spec.turn;
    await until(() => stack.scheduler.of('turnAbandoned').length === 1, 'the turn is abandoned');
    if (turn !== undefined) stack.scheduler.admit(turn, 'engine-0');
    await until(() => stack.scheduler.of('turnFinished').length === 1, 'the place is given back');
    expect(stack.scheduler.of('turnFinished')[0]?.outcome).toBe('failed');
    expect(stack.engine.calls).toHaveLength(0);
    await nothingIsLeft(stack);
  });

  it.each([
    ['of a stream', streaming],
    ['of a whole reply', chatBody()],
  ])('before the first byte %s: the engine request is closed', async (_, body) => {
    const stack = await startStack();
    const client = post(stack.proxy, chatPath, body);
    const call = await stack.engine.next();
    client.leave();
    await until(call.aborted, 'the engine request is closed');
    await nothingIsLeft(stack);
    expect(stack.scheduler.of('turnFinished')[0]).toMatchObject({ outcome: 'failed' });
  });

  it('amid the stream: the engine request is closed and what was seen is booked', async () => {
    const stack = await startStack();
    const client = post(stack.proxy, chatPath, streaming);
    const call = await stack.engine.next();
    call.head(200);
    call.write(sse(chunk({ content: 'a' }), chunk({ content: 'b' }), chunk({ content: 'c' })));
    await until(() => client.chunks.length > 0, 'the first bytes are there');
    client.leave();
    await until(call.aborted, 'the engine request is closed');
    await nothingIsLeft(stack);
    expect(stack.scheduler.of('turnFinished')[0]).toMatchObject({
      outcome: 'failed',
      usage: { completionTokens: 3 },
    });
    const metrics = await (await fetch(`${stack.proxy.url}/metrics`)).text();
    expect(metrics).toMatch(/fermata_proxy_tokens_total\{class="interactive",kind="completion"\} 3/);
  });

  it('amid a whole reply: the engine request is closed', async () => {
    const stack = await startStack();
    const client = post(stack.proxy, chatPath, chatBody());
    const call = await stack.engine.next();
    call.head(200, { 'content-type': 'application/json' });
    call.write('{"choices":');
    await until(() => client.chunks.length > 0, 'the first bytes are there');
    client.leave();
    await until(call.aborted, 'the engine request is closed');
    await nothingIsLeft(stack);
    expect(stack.scheduler.of('turnFinished')).toMatchObject([{ outcome: 'failed' }]);
  });

  it('while its turn waits to be held again: no second engine request is made', async () => {
    const stack = await startStack({ limits: { queueFullDelayMs: 60_000, queueFullMaxDelayMs: 60_000 } });
    stack.engine.answer((call) => call.json(503, {}));
    const client = post(stack.proxy, chatPath, streaming);
    await until(() => stack.scheduler.of('turnFinished').length === 1, 'the refusal is reported');
    client.leave();
    await until(() => stack.log.some((line) => line['outcome'] === 'abandoned'), 'the turn is over');
    expect(stack.engine.calls).toHaveLength(1);
    expect(stack.scheduler.of('turnArrived')).toHaveLength(1);
    await nothingIsLeft(stack);
  });

  it('while the connection to the engine is being made: the place is free at once, nothing is sent', async () => {
    const silent = await startSilentServer();
    const stack = await startStack({ pool: () => [replica('engine-0', silent.url)] });
    const client = post(stack.proxy, chatPath, streaming);
    await until(() => silent.connections() === 1, 'the connection is begun');
    client.leave();
    await nothingIsLeft(stack);
    expect(stack.scheduler.of('turnFinished')).toMatchObject([{ outcome: 'failed' }]);
  });
});

/** Takes TCP connections and never answers the TLS handshake: a connection that is never made. */
async function startSilentServer(): Promise<{ url: string; connections: () => number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closeAfterTest(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}`, connections: () => sockets.size };
}

describe('an engine that accepts no connection', () => {
  it('is unreachable after the connect timeout', async () => {
    const silent = await startSilentServer();
    const stack = await startStack({
      pool: () => [replica('engine-0', silent.url)],
      limits: { connectTimeoutMs: 300 },
    });
    const reply = await chat(stack.proxy);
    expect(reply.status).toBe(502);
    expect(reply.text).toMatch(/engine engine-0: Connect Timeout/);
    await nothingIsLeft(stack);
  });
});

/** Ends one turn in the way it is named after; resolves when the client has seen its end. */
const endings: Record<string, (stack: Stack) => Promise<void>> = {
  success_stream: async ({ proxy, engine }) => {
    const client = post(proxy, chatPath, streaming);
    const call = await engine.next();
    call.head(200);
    call.write(sse(chunk({ content: 'x' }, 'stop'), '[DONE]'));
    call.end();
    await until(() => client.ended() === 'whole', 'the reply is whole');
  },
  success_json: async ({ proxy, engine }) => {
    const client = post(proxy, chatPath, chatBody());
    (await engine.next()).json(200, { choices: [] });
    await until(() => client.ended() === 'whole', 'the reply is whole');
  },
  engine_400: async ({ proxy, engine }) => {
    const client = post(proxy, chatPath, chatBody());
    (await engine.next()).json(400, { error: {} });
    await until(() => client.ended() === 'whole', 'the refusal is whole');
  },
  client_drop_queued: async ({ proxy, scheduler }) => {
    const client = post(proxy, chatPath, streaming, { 'x-fermata-run-id': 'queued' });
    await until(() => scheduler.held() === 1, 'the turn is held');
    client.leave();
    await until(() => scheduler.held() === 0, 'the turn is held no more');
  },
  internal_exception: async ({ proxy }) => {
    const reply = await chat(proxy, { model: 'm-bad' });
    expect(reply.status).toBe(500);
  },
  /** The reply ends and its client leaves in the same moment. */
  double_end: async ({ proxy, engine }) => {
    const client = post(proxy, chatPath, streaming);
    const call = await engine.next();
    call.head(200);
    call.write(sse(chunk({ content: 'x' })));
    await until(() => client.chunks.length > 0, 'the stream has begun');
    call.write(sse(chunk({}, 'stop'), '[DONE]'));
    call.end();
    client.leave();
    await until(() => call.response.closed, 'the engine request has ended');
  },
  client_drop_before_first_byte: async ({ proxy, engine }) => {
    const client = post(proxy, chatPath, streaming);
    const call = await engine.next();
    client.leave();
    await until(call.aborted, 'the engine request is closed');
  },
  client_drop_mid_stream: async ({ proxy, engine }) => {
    const client = post(proxy, chatPath, streaming);
    const call = await engine.next();
    call.head(200);
    call.write(sse(chunk({ content: 'x' })));
    await until(() => client.chunks.length > 0, 'the stream has begun');
    client.leave();
    await until(call.aborted, 'the engine request is closed');
  },
  idle_timeout: async ({ proxy, engine }) => {
    const client = post(proxy, chatPath, streaming);
    await engine.next();
    await until(() => client.ended() !== null, 'the proxy has given up');
  },
  engine_reset: async ({ proxy, engine }) => {
    const client = post(proxy, chatPath, streaming);
    (await engine.next()).reset();
    await until(() => client.ended() !== null, 'the proxy has answered');
  },
};

const g03 = caseFile('G03');
const g03Given = z
  .object({ limit: z.number(), endings: z.array(z.string()), repeat: z.number() })
  .parse(g03.given);

describe(`${g03.id} ${g03.title}`, () => {
  it('every ending of the case is tried here', () => {
    expect(Object.keys(endings).toSorted()).toEqual(g03Given.endings.toSorted());
  });

  it('come back after every ending, again and again, and are counted until the end of each', async () => {
    const stack = await startStack({
      streamIdleMs: 150,
      pool: ([engine]) => [
        replica('engine-0', engine?.url ?? ''),
        // An address that no URL parser takes: a fault of ours.
        replica('engine-bad', 'http://[bad', { models: ['m-bad'] }),
      ],
      rule: (spec) =>
        spec.run === 'queued'
          ? null
          : {
              type: 'admit',
              turn: spec.turn,
              replica: (spec.model === 'm-bad' ? 'engine-bad' : 'engine-0') as never,
            },
    });
    for (const [name, end] of Object.entries(endings)) {
      const repeat = name === 'idle_timeout' ? 3 : g03Given.repeat;
      for (let count = 0; count < repeat; count++) {
        await end(stack);
        await until(() => stack.scheduler.places() === 0, `the place of ${name} is free`);
      }
    }
    await nothingIsLeft(stack);
    const finished = stack.scheduler.of('turnFinished').map(({ turn }) => turn);
    expect(new Set(finished).size).toBe(finished.length);
    const abandoned = stack.scheduler.of('turnAbandoned').length;
    expect(finished.length + abandoned).toBe(stack.scheduler.of('turnArrived').length);
    const reply = chat(stack.proxy);
    (await stack.engine.next()).json(200, {});
    expect((await reply).status).toBe(200);
  });

  it('are taken until the stream has ended, not until its head', async () => {
    const stack = await startStack();
    const client = post(stack.proxy, chatPath, streaming);
    const call = await stack.engine.next();
    call.head(200);
    await client.head;
    call.write(sse(chunk({ content: 'x' }, 'stop')));
    await until(() => client.chunks.length > 0, 'bytes are there');
    expect(stack.scheduler.places()).toBe(1);
    call.end();
    await nothingIsLeft(stack);
  });

  it('many clients that leave at once leave nothing: no socket at the engine either', async () => {
    const stack = await startStack();
    const clients = Array.from({ length: 60 }, () => post(stack.proxy, chatPath, streaming));
    await until(() => stack.engine.calls.length === 60, 'all are at the engine');
    for (const client of clients) client.leave();
    await until(() => stack.engine.openSockets() === 0, 'every engine connection is closed');
    await nothingIsLeft(stack);
    expect(stack.scheduler.of('turnFinished')).toHaveLength(60);
  });
});

/** An engine that writes as fast as it is let, and counts what was taken. */
async function startFirehose(
  bytes: number,
): Promise<{ url: string; taken: () => number; closed: () => boolean }> {
  let taken = 0;
  let closed = false;
  const sockets = new Set<Socket>();
  const piece = Buffer.from(sse(chunk({ content: 'x'.repeat(65_000) })));
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      closed = true;
    });
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n');
      const pump = (): void => {
        while (taken < bytes && !socket.destroyed) {
          taken += piece.length;
          if (!socket.write(piece)) {
            socket.once('drain', pump);
            return;
          }
        }
      };
      pump();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closeAfterTest(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, taken: () => taken, closed: () => closed };
}

const s18 = caseFile('S18');
const { upstream_bytes: upstreamBytes } = z
  .object({ upstream_bytes: z.number(), client_read_bytes: z.literal(0) })
  .loose()
  .parse(s18.given);
const s18Expect = z
  .object({ proxy_rss_growth_max_bytes: z.number(), upstream_bytes_accepted_max: z.number() })
  .loose()
  .parse(s18.expect);

describe(`${s18.id} ${s18.title}`, () => {
  it('stops the engine, and after the stall limit is cut off, its engine request closed and its place freed', async () => {
    const firehose = await startFirehose(upstreamBytes);
    const stack = await startStack({
      pool: () => [replica('engine-0', firehose.url)],
      limits: { clientStallMs: 1_000 },
    });
    const heldBefore = process.memoryUsage().arrayBuffers;
    const client = post(stack.proxy, chatPath, streaming, {}, true);
    await client.head;
    await until(() => stack.scheduler.of('turnStarted').length === 1, 'the reply has begun');
    const held = process.memoryUsage().arrayBuffers - heldBefore;
    expect(held).toBeLessThan(s18Expect.proxy_rss_growth_max_bytes);
    await until(() => firehose.closed(), 'the engine request is closed');
    expect(firehose.taken()).toBeLessThan(s18Expect.upstream_bytes_accepted_max);
    await nothingIsLeft(stack);
    await until(
      () => stack.log.some((line) => line['reason'] === 'the client stopped reading'),
      'the log says so',
    );
    client.leave();
  });

  it('only for a while gets everything, in order', async () => {
    const stack = await startStack();
    const client = post(stack.proxy, chatPath, streaming, {}, true);
    const call = await stack.engine.next();
    call.head(200);
    const head = await client.head;
    const piece = sse(chunk({ content: 'y'.repeat(100_000) }));
    for (let count = 0; count < 100; count++) call.write(piece);
    call.write(sse(chunk({}, 'stop')));
    call.end();
    await until(() => call.response.writableLength > 0, 'the engine is stopped');
    let received = 0;
    head.on('data', (data: Buffer) => {
      received += data.length;
    });
    await until(() => client.ended() !== null, 'the reply has ended', 20_000);
    expect(client.ended()).toBe('whole');
    expect(received).toBe(piece.length * 100 + sse(chunk({}, 'stop')).length);
    await nothingIsLeft(stack);
  });
});
