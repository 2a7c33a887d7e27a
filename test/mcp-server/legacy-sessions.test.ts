import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LegacySessions } from '../../mcp-server/mcp/legacy-sessions.ts';

interface Clock {
  now: number;
}

function sessionsOf(
  limits: { maxSessions: number; idleMs: number },
  clock: Clock = { now: 0 },
): LegacySessions {
  const makeServer = (): McpServer => {
    const server = new McpServer({ name: 'test', version: '1' });
    server.registerTool('hang', { inputSchema: z.strictObject({}) }, async (_, context) => {
      const { signal } = context.mcpReq;
      return await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('gone')));
      });
    });
    return server;
  };
  return new LegacySessions(makeServer, limits, () => clock.now);
}

function post(body: unknown, session?: string, signal?: AbortSignal): [Request, unknown] {
  const request = new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  return [request, body];
}

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
};
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const hang = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'hang', arguments: {} } };

async function open(sessions: LegacySessions, stale?: string): Promise<string> {
  const response = await sessions.fetch(...post(initialize, stale));
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('mcp-session-id') ?? 'none';
}

async function statusOf(sessions: LegacySessions, session: string): Promise<number> {
  const response = await sessions.fetch(...post(ping, session));
  await response.text();
  return response.status;
}

describe('sessions', () => {
  it('are opened by initialize and serve their client from then on', async () => {
    const sessions = sessionsOf({ maxSessions: 2, idleMs: 10 });
    const id = await open(sessions);
    expect(await statusOf(sessions, id)).toBe(200);
    expect(sessions.size).toBe(1);
    await sessions.close();
  });

  it('answer 404 for a session they do not know, and 400 without one', async () => {
    const sessions = sessionsOf({ maxSessions: 2, idleMs: 10 });
    expect(await statusOf(sessions, 'gone')).toBe(404);
    expect((await sessions.fetch(...post(ping))).status).toBe(400);
  });

  it('take an initialize that carries a stale session id, and give it a new session', async () => {
    const sessions = sessionsOf({ maxSessions: 2, idleMs: 10 });
    const id = await open(sessions, 'from-before-the-restart');
    expect(id).not.toBe('from-before-the-restart');
    expect(await statusOf(sessions, id)).toBe(200);
    await sessions.close();
  });

  it('end with DELETE', async () => {
    const sessions = sessionsOf({ maxSessions: 2, idleMs: 10 });
    const id = await open(sessions);
    const headers = { 'mcp-session-id': id };
    const request = new Request('http://127.0.0.1/mcp', { method: 'DELETE', headers });
    expect((await sessions.fetch(request, undefined)).status).toBe(200);
    expect(sessions.size).toBe(0);
    expect(await statusOf(sessions, id)).toBe(404);
  });

  it('expire when idle for long enough, not before', async () => {
    const clock = { now: 0 };
    const sessions = sessionsOf({ maxSessions: 2, idleMs: 1_000 }, clock);
    const id = await open(sessions);
    clock.now = 999;
    await sessions.expire();
    expect(await statusOf(sessions, id)).toBe(200);
    clock.now = 1_998;
    await sessions.expire();
    expect(sessions.size).toBe(1);
    clock.now = 1_999;
    await sessions.expire();
    expect(sessions.size).toBe(0);
    expect(await statusOf(sessions, id)).toBe(404);
  });

  it('do not expire while an exchange is open, and its client leaving ends it', async () => {
    const clock = { now: 0 };
    const sessions = sessionsOf({ maxSessions: 1, idleMs: 10 }, clock);
    const id = await open(sessions);
    const client = new AbortController();
    const response = await sessions.fetch(...post(hang, id, client.signal));
    clock.now = 1_000;
    await sessions.expire();
    expect(sessions.size).toBe(1);
    client.abort();
    await response.text().catch(() => undefined);
    clock.now = 2_000;
    await sessions.expire();
    expect(sessions.size).toBe(0);
  });

  it('are not busy with a call that its client has cancelled without leaving', async () => {
    const clock = { now: 0 };
    const sessions = sessionsOf({ maxSessions: 1, idleMs: 10 }, clock);
    const id = await open(sessions);
    const response = await sessions.fetch(...post(hang, id));
    const params = { requestId: hang.id, reason: 'no more' };
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params };
    await (await sessions.fetch(...post(cancelled, id))).text();
    // Its stream ends, without an answer.
    expect(await response.text()).not.toContain('"id":2');
    clock.now = 1_000;
    await sessions.expire();
    expect(sessions.size).toBe(0);
  });

  it('are bounded: the longest idle one gives way to a new one', async () => {
    const clock = { now: 0 };
    const sessions = sessionsOf({ maxSessions: 2, idleMs: 1_000_000 }, clock);
    const first = await open(sessions);
    clock.now = 1;
    const second = await open(sessions);
    clock.now = 2;
    expect(await statusOf(sessions, first)).toBe(200);
    clock.now = 3;
    const third = await open(sessions);
    expect(sessions.size).toBe(2);
    expect(await statusOf(sessions, second)).toBe(404);
    expect(await statusOf(sessions, first)).toBe(200);
    expect(await statusOf(sessions, third)).toBe(200);
    await sessions.close();
  });

  it('are bounded: when all are busy a new one is refused, and none is lost', async () => {
    const sessions = sessionsOf({ maxSessions: 1, idleMs: 10 });
    const id = await open(sessions);
    const busy = await sessions.fetch(...post(hang, id));
    const refused = await sessions.fetch(...post(initialize));
    expect(refused.status).toBe(503);
    expect(sessions.size).toBe(1);
    await sessions.close();
    await busy.text().catch(() => undefined);
  });

  it('leave nothing behind when the handshake is refused', async () => {
    const sessions = sessionsOf({ maxSessions: 1, idleMs: 10 });
    const [request, body] = post(initialize);
    const odd = new Request(request, {
      headers: { 'content-type': 'application/json', accept: 'text/html' },
    });
    expect((await sessions.fetch(odd, body)).status).toBe(406);
    expect(sessions.size).toBe(0);
  });

  it('end all open exchanges when they are closed, and take no new ones', async () => {
    const sessions = sessionsOf({ maxSessions: 2, idleMs: 10 });
    const id = await open(sessions);
    const busy = await sessions.fetch(...post(hang, id));
    await sessions.close();
    await busy.text();
    expect(sessions.size).toBe(0);
    expect((await sessions.fetch(...post(initialize))).status).toBe(503);
  });
});
