/** How a proxy stops, while it holds turns, streams and connections, as a factory and as a real process. */
import { createConnection, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defaultLimits } from '../../proxy/limits.ts';
import { caseFile } from '../case-file.ts';
import { startService, type ServiceProcess } from '../service-process.ts';
import { chatStream, finishAmid } from './doors.ts';
import { ask, eventually, gaugesOf, startRealStack, statusOf, type RealStack } from './real-stack.ts';
import type { EngineCall } from './scripted-engine.ts';
import { chatBody, chatPath, closeAfterTest, post, until, type TestClient } from './stack.ts';

const g10 = caseFile('G10');
const given = z
  .object({
    drain_limit_s: z.number(),
    streams: z.number(),
    stream_left_s: z.array(z.number()),
    queued: z.number(),
    new_after_term: z.number(),
  })
  .parse(g10.given);
const wanted = z
  .object({ readiness_503_within_ms: z.number(), finished_streams: z.number(), exit_within_s: z.number() })
  .loose()
  .parse(g10.expect);

/** One second of the case in milliseconds here. */
const scale = 50;
const drainMs = given.drain_limit_s * scale;

interface Loaded {
  readonly streams: readonly { readonly client: TestClient; readonly call: EngineCall }[];
  readonly queued: readonly TestClient[];
}

/** Streams that have begun and turns that are held, as the case has them. */
async function load(
  stack: RealStack,
  proxy: { readonly port: number; readonly url: string },
): Promise<Loaded> {
  const [engine] = stack.engines;
  if (engine === undefined) throw new Error('no engine');
  const streams: { client: TestClient; call: EngineCall }[] = [];
  for (let count = 0; count < given.streams; count += 1) {
    const client = post(proxy, chatStream.path, chatStream.body);
    const call = await engine.next();
    call.head(200);
    call.write(chatStream.first);
    await until(() => client.text() === chatStream.first, 'the stream has begun');
    streams.push({ client, call });
  }
  const queued = Array.from({ length: given.queued }, () => post(proxy, chatPath, chatBody()));
  await eventually('turns are held', async () => (await gaugesOf(proxy)).held === given.queued);
  return { streams, queued };
}

/** A connection that is open and idle, and one that has sent half a request. */
async function idleConnections(port: number): Promise<readonly { readonly closed: () => boolean }[]> {
  const open = async (bytes: string): Promise<{ closed: () => boolean }> => {
    const socket: Socket = createConnection({ host: '127.0.0.1', port });
    let closed = false;
    socket.on('error', () => {});
    socket.once('close', () => {
      closed = true;
    });
    const answered = new Promise<void>((resolve) => {
      if (!bytes.endsWith('\r\n\r\n')) resolve();
      else socket.once('data', () => resolve());
    });
    await new Promise<void>((resolve) => {
      socket.once('connect', resolve);
    });
    socket.write(bytes);
    await answered;
    socket.resume();
    closeAfterTest(() => Promise.resolve(void socket.destroy()));
    return { closed: () => closed };
  };
  return await Promise.all([
    open('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'),
    open(`POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"model":`),
  ]);
}

const portOf = (url: string): number => Number(new URL(url).port);

/** The proxy of the case as a process, before the scheduler and the engine of a stack. */
async function startProxyProcess(
  stack: RealStack,
  drainSeconds: number,
): Promise<ServiceProcess & { port: number }> {
  const service = await startService('proxy/main.ts', {
    FERMATA_PROXY_PORT: '0',
    FERMATA_SCHEDULER_URL: stack.scheduler.url,
    FERMATA_DRAIN_SECONDS: String(drainSeconds),
  });
  closeAfterTest(() => service.kill());
  await eventually(
    'the process is ready',
    async () => (await ask(`${service.url}/readyz`)).status === 200,
    30_000,
  );
  return { ...service, port: portOf(service.url) };
}

/** A process takes seconds to start where many do. */
const processTestMs = 90_000;

describe(`${g10.id} ${g10.title}`, { timeout: processTestMs }, () => {
  it('has the drain limit of the case as its default', () => {
    expect(defaultLimits.drainMs).toBe(given.drain_limit_s * 1_000);
  });

  it('streams finish within the limit, the rest is cut there; held and new turns get a 503', async () => {
    const stack = await startRealStack({
      engines: 1,
      places: given.streams,
      limits: { drainMs, lastBytesMs: 200 },
    });
    const { proxy } = stack;
    const { streams, queued } = await load(stack, proxy);
    const idle = await idleConnections(proxy.port);
    const stoppedAt = performance.now();
    const closed = proxy.close();

    const ready = await fetch(`${proxy.url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { ready: false, draining: true }]);
    expect(performance.now() - stoppedAt).toBeLessThan(wanted.readiness_503_within_ms);
    expect((await fetch(`${proxy.url}/healthz`)).status).toBe(200);
    for (const client of queued) {
      const head = await client.head;
      expect([head.statusCode, Number(head.headers['retry-after']) > 0]).toEqual([503, true]);
    }
    for (let count = 0; count < given.new_after_term; count += 1) {
      const head = await post(proxy, chatPath, chatBody()).head;
      expect([head.statusCode, Number(head.headers['retry-after']) > 0]).toEqual([503, true]);
    }

    for (const [index, seconds] of given.stream_left_s.entries()) {
      if (seconds < given.drain_limit_s) finishAmid(streams[index]?.call, chatStream, seconds * scale);
    }
    await closed;
    const tookMs = performance.now() - stoppedAt;
    await until(() => streams.every(({ client }) => client.ended() !== null), 'every stream has ended');
    const whole = streams.filter(({ client }) => client.ended() === 'whole');
    expect(whole).toHaveLength(wanted.finished_streams);
    for (const { client } of whole) expect(client.text()).toBe(chatStream.first + chatStream.rest);
    const [cut] = streams.filter(({ client }) => client.ended() === 'cut');
    expect(cut?.client.text()).toBe(chatStream.first);
    await until(() => cut?.call.aborted() === true, 'its engine request is closed');
    expect(tookMs).toBeGreaterThanOrEqual(drainMs);
    expect(tookMs).toBeLessThan(drainMs + 5_000);
    await until(() => idle.every((connection) => connection.closed()), 'idle connections are closed');
    await eventually('no place is taken', async () =>
      (await statusOf(stack)).replicas.every(({ inFlight }) => inFlight === 0),
    );
    expect((await statusOf(stack)).proxies).toBe(0);
  });

  it('with nothing in flight it stops at once, whatever connections are open', async () => {
    const { proxy } = await startRealStack({ engines: 1, limits: { drainMs: 60_000, lastBytesMs: 200 } });
    const idle = await idleConnections(proxy.port);
    await proxy.close();
    await until(() => idle.every((connection) => connection.closed()), 'idle connections are closed');
    await expect(fetch(`${proxy.url}/healthz`)).rejects.toThrow(/fetch failed/);
  });

  it('a stream goes on to its end while the proxy stops, chunk by chunk', async () => {
    const stack = await startRealStack({ engines: 1, places: given.streams, limits: { drainMs: 60_000 } });
    const { streams, queued } = await load(stack, stack.proxy);
    const closed = stack.proxy.close();
    for (const client of queued) await client.head;
    for (const { client, call } of streams) {
      let text = chatStream.first;
      for (const piece of chatStream.rest.split(/(?<=\n\n)/)) {
        call.write(piece);
        text += piece;
        await until(() => client.text() === text, 'the piece has come');
      }
      call.end();
    }
    await closed;
    expect(streams.map(({ client }) => client.ended())).toEqual(streams.map(() => 'whole'));
  });

  it('the real process: SIGTERM drains, streams finish, the rest is cut at the limit, exit 0', async () => {
    const limitSeconds = 2;
    const stack = await startRealStack({ engines: 1, places: given.streams });
    const service = await startProxyProcess(stack, limitSeconds);
    const { streams, queued } = await load(stack, service);
    await idleConnections(service.port);
    const stoppedAt = performance.now();
    service.signal('SIGTERM');
    await eventually(
      'it says that it is not ready',
      async () => (await ask(`${service.url}/readyz`)).status === 503,
    );
    for (const client of queued) expect((await client.head).statusCode).toBe(503);
    for (const [index, seconds] of given.stream_left_s.entries()) {
      if (seconds < given.drain_limit_s) finishAmid(streams[index]?.call, chatStream, 0);
    }
    expect(await service.exited).toBe(0);
    const tookMs = performance.now() - stoppedAt;
    expect(tookMs).toBeGreaterThanOrEqual(limitSeconds * 1_000);
    expect(tookMs).toBeLessThan((limitSeconds + wanted.exit_within_s - given.drain_limit_s) * 1_000);
    await until(() => streams.every(({ client }) => client.ended() !== null), 'every stream has ended');
    expect(streams.map(({ client }) => client.ended()).filter((end) => end === 'whole')).toHaveLength(
      wanted.finished_streams,
    );
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'the real process: a second signal, %s, cuts at once',
    async (second) => {
      const stack = await startRealStack({ engines: 1, places: given.streams });
      const service = await startProxyProcess(stack, 600);
      const { streams, queued } = await load(stack, service);
      service.signal('SIGTERM');
      for (const client of queued) expect((await client.head).statusCode).toBe(503);
      expect(streams.map(({ client }) => client.ended())).toEqual(streams.map(() => null));
      service.signal(second);
      expect(await service.exited).toBe(0);
      await until(() => streams.every(({ client }) => client.ended() === 'cut'), 'every stream is cut');
      await eventually('no place is taken', async () =>
        (await statusOf(stack)).replicas.every(({ inFlight }) => inFlight === 0),
      );
    },
  );
});
