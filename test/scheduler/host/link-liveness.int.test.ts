import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { ProxyId } from '../../../contracts/ids.ts';
import type { Submission } from '../../../scheduler/host/event-loop.ts';
import { LinkServer } from '../../../scheduler/host/link-server.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A link server that pings every 20 ms, and the events it has submitted. */
async function linkServer(): Promise<{ url: string; events: Submission[] }> {
  const events: Submission[] = [];
  const links = new LinkServer({
    logger: pino({ level: 'silent' }),
    submit: (event) => void events.push(event),
    poolMessage: () => ({ type: 'pool', replicas: [], streamIdleMs: 1_000, rateLimits: {} }),
    pingEveryMs: 20,
  });
  const server = createServer();
  server.on('upgrade', (request, socket, head) => links.upgrade(request, socket, head));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  cleanups.push(async () => {
    await links.close();
    server.close();
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, events };
}

async function resynced(url: string, autoPong: boolean): Promise<WebSocket> {
  const socket = new WebSocket(url, { autoPong });
  cleanups.push(() => socket.terminate());
  await once(socket, 'open');
  const proxy = 'p' as ProxyId;
  socket.send(JSON.stringify({ type: 'resync', proxy, runs: [], held: [], inFlight: [] }));
  return socket;
}

it('ends a link whose proxy answers no pings, and counts the proxy as lost', async () => {
  const { url, events } = await linkServer();
  const socket = await resynced(url, false);
  await once(socket, 'close');
  expect(events.map(({ type }) => type)).toEqual(['proxyResynced', 'proxyLost']);
});

it('keeps a link that is silent but for its answers to pings', async () => {
  const { url, events } = await linkServer();
  const socket = await resynced(url, true);
  for (let ping = 0; ping < 8; ping += 1) await once(socket, 'ping');
  expect(socket.readyState).toBe(WebSocket.OPEN);
  expect(events.map(({ type }) => type)).toEqual(['proxyResynced']);
});
