import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { createToolRegistry, type ToolRegistry } from '../../../activities/tool-servers/tool-registry.ts';
import { startToolServer } from '../../../testkit/tool-server/host.ts';

const logger = pino({ level: 'silent' });
const noSignal = new AbortController().signal;
const limits = { headers: {}, idleTimeoutMs: 60_000, totalTimeoutMs: 600_000 };
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function open(url: string): ToolRegistry {
  const registry = createToolRegistry(
    { s: { url, ...limits, headers: { authorization: 'Bearer t' } } },
    { logger },
  );
  closers.push(async () => await registry.close());
  return registry;
}

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string };
}

/** A server of the sessions era, answered by hand. */
async function startSessionServer() {
  const received: { method: string; session: string | undefined; headers: IncomingHttpHeaders }[] = [];
  let session = '';
  let sessions = 0;
  let executed = 0;
  const server: Server = createServer((request, response) => {
    let text = '';
    request.on('data', (bytes: Buffer) => (text += bytes.toString('utf8')));
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const message = JSON.parse(text) as Message;
      const given = request.headers['mcp-session-id'];
      received.push({ method: message.method, session: given?.toString(), headers: request.headers });
      const json = (status: number, body: object, headers: Record<string, string> = {}): void => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id ?? null, ...body }));
      };
      if (message.method === 'initialize') {
        sessions += 1;
        session = `s-${sessions}`;
        const result = {
          protocolVersion: message.params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'stub', version: '1' },
        };
        return json(200, { result }, { 'mcp-session-id': session });
      }
      if (message.method === 'server/discover')
        return json(400, { error: { code: -32601, message: 'Method not found' } });
      if (given !== session) return json(404, { error: { code: -32001, message: 'Session not found' } });
      if (message.id === undefined) return void response.writeHead(202).end();
      executed += 1;
      return json(200, { result: { content: [{ type: 'text', text: `call ${executed}` }] } });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    received,
    executed: () => executed,
    loseSessions: () => {
      session = 'none';
    },
  };
}

const call = (name: string, key = 'k') => ({ tool: name, arguments: { topic: 'x' }, idempotencyKey: key });

describe('a tool server over HTTP', () => {
  it('that lost its sessions is asked for one new session, and each call runs once (M01)', async () => {
    const server = await startSessionServer();
    const registry = open(server.url);
    await registry.call('s', call('echo'), noSignal);
    expect(server.received[0]?.headers.authorization).toBe('Bearer t');
    server.loseSessions();
    const results = await Promise.all(
      ['a', 'b', 'c'].map(async (key) => await registry.call('s', call('echo', key), noSignal)),
    );
    expect(results).toHaveLength(3);
    expect(server.executed()).toBe(4);
    expect(server.received.filter(({ method }) => method === 'initialize')).toHaveLength(2);
    expect(
      server.received.filter(({ method, session }) => method === 'tools/call' && session === 's-2'),
    ).toHaveLength(3);
  });

  it('is listed and called in the newest protocol it speaks', async () => {
    const server = await startToolServer({ delayScale: 0 });
    closers.push(async () => await server.close());
    const registry = open(server.url);
    const { tools, warnings } = await registry.list(['s__lookup', 's__add_note'], noSignal);
    expect(warnings).toEqual([]);
    expect(tools.map(({ name, annotations }) => [name, annotations])).toEqual([
      ['s__lookup', { readOnlyHint: true, destructiveHint: false, idempotentHint: true }],
      ['s__add_note', { readOnlyHint: false, destructiveHint: false, idempotentHint: false }],
    ]);
    const result = await registry.call('s', call('lookup', 'run_1:c1'), noSignal);
    expect(JSON.stringify(result.content)).toContain('x: ');
    expect(server.calls().keys['run_1:c1']).toMatchObject({ tool: 'lookup', finished: 1 });
  });

  it('that is gone was not sent the call, and is found again when it is back', async () => {
    const first = await startToolServer({ delayScale: 0 });
    const registry = open(first.url);
    await registry.call('s', call('lookup'), noSignal);
    await first.close();
    await expect(registry.call('s', call('lookup'), noSignal)).rejects.toMatchObject({ outcome: 'not-sent' });
    const second = await startToolServer({ delayScale: 0, port: first.port });
    closers.push(async () => await second.close());
    await registry.call('s', call('lookup'), noSignal);
    expect(second.calls().tools['lookup']?.finished).toBe(1);
  });

  it('hears of a cancelled call', async () => {
    const server = await startToolServer();
    closers.push(async () => await server.close());
    const abort = new AbortController();
    const running = open(server.url).call(
      's',
      { tool: 'hang', arguments: {}, idempotencyKey: 'k' },
      abort.signal,
    );
    running.catch(() => undefined);
    await server.waitFor((calls) => calls.tools['hang']?.started === 1);
    abort.abort();
    await server.waitFor((calls) => calls.tools['hang']?.cancelled === 1);
    await expect(running).rejects.toThrow(/abort/i);
  });
});
