/** A thousand sessions that their clients open and drop: what is left of them on the server. */
import { Agent, request as httpRequest } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import type { McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { startServerAlone } from './server-alone.ts';

const sessions = 1_000;
const atOnce = 20;
let server: McpServerHandle | undefined;
let agent: Agent | undefined;

afterEach(async () => {
  agent?.destroy();
  await server?.close();
});

async function startServer(idleMs: number): Promise<McpServerHandle> {
  server = await startServerAlone({ sessionLimits: { maxSessions: sessions, idleMs }, sessionSweepMs: 20 });
  return server;
}

interface Answer {
  readonly status: number;
  readonly id: string | undefined;
  /** Breaks the connection off. */
  drop(): void;
}

/** @param readWhole false: the answer is a stream that stays open. */
async function send(url: string, method: string, id: string | null, body: unknown, readWhole: boolean) {
  return await new Promise<Answer>((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      accept: readWhole ? 'application/json, text/event-stream' : 'text/event-stream',
      ...(id === null ? {} : { 'mcp-session-id': id }),
    };
    const sent = httpRequest(`${url}/mcp`, { method, headers, ...(agent === undefined ? {} : { agent }) });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const told = response.headers['mcp-session-id'];
      const answer: Answer = {
        status: response.statusCode ?? 0,
        id: typeof told === 'string' ? told : undefined,
        drop: () => sent.destroy(),
      };
      if (!readWhole) resolve(answer);
      else readText(response).then(() => resolve(answer), reject);
    });
    sent.end(body === null ? undefined : JSON.stringify(body));
  });
}

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
};
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** @returns the session's id, with its stream of the server open. */
async function open(url: string): Promise<{ readonly id: string; readonly stream: Answer }> {
  const { id } = await send(url, 'POST', null, initialize, true);
  if (id === undefined) throw new Error('no session');
  await send(url, 'POST', id, initialized, true);
  return { id, stream: await send(url, 'GET', id, null, false) };
}

async function inTurns<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < count) made.push(...(await Promise.all(Array.from({ length: atOnce }, make))));
  return made;
}

/** Of this process, in which both ends are. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
}

async function gauge(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

it(
  'leave no session, no stream and no socket when their clients are gone',
  { timeout: 120_000 },
  async () => {
    // Files of tests share the process: another one's connections may still be going.
    const others = openSockets();
    agent = new Agent({ keepAlive: true, maxFreeSockets: atOnce });
    // Longer than a busy machine takes from one request of a client to its next.
    const { url } = await startServer(5_000);
    const opened = await inTurns(sessions, async () => await open(url));
    // Their streams are open, so none of them is idle, however short the limit is.
    expect(await gauge(url, 'fermata_mcp_sessions')).toBe(sessions);
    expect((await send(url, 'POST', null, initialize, true)).status).toBe(503);
    for (const { stream } of opened) stream.drop();
    await expect.poll(async () => await gauge(url, 'fermata_mcp_sessions'), { timeout: 30_000 }).toBe(0);
    const [first] = opened;
    expect((await send(url, 'POST', first?.id ?? '', initialized, true)).status).toBe(404);
    agent.destroy();
    // Both ends of the connection that asks for metrics stay.
    await expect.poll(openSockets, { timeout: 30_000 }).toBeLessThanOrEqual(others + 2);
  },
);

it('leave nothing at once when their clients end them', { timeout: 120_000 }, async () => {
  agent = new Agent({ keepAlive: true, maxFreeSockets: atOnce });
  const { url } = await startServer(3_600_000);
  const opened = await inTurns(100, async () => await open(url));
  for (const { id } of opened) await send(url, 'DELETE', id, null, true);
  expect(await gauge(url, 'fermata_mcp_sessions')).toBe(0);
});
