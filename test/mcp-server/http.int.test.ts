/** What `/mcp` and its neighbours answer on the wire, without Temporal. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { startServerAlone } from './server-alone.ts';

let server: McpServerHandle;
beforeAll(async () => {
  server = await startServerAlone();
});
afterAll(async () => {
  await server.close();
});

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** node:http, since fetch does not let a caller choose Host and Origin. */
async function send({ method = 'POST', path = '/mcp', headers = {}, body = '' }: Sent) {
  return await new Promise<{ status: number; text: string; headers: Record<string, unknown> }>(
    (resolve, reject) => {
      const sent = httpRequest(
        `${server.url}${path}`,
        {
          method,
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...headers,
          },
        },
        (response) => {
          readText(response).then(
            (text) => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }),
            reject,
          );
        },
      );
      sent.on('error', reject);
      sent.end(body);
    },
  );
}

function initialize(protocolVersion: string): string {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  return JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
}

/** A request of 2026-07-28, with its envelope and headers. */
function modern(method: string, params: Record<string, unknown> = {}): Sent {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const name = typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {};
  return {
    headers: { 'mcp-protocol-version': version, 'mcp-method': method, ...name },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  };
}

describe('the handshake', () => {
  it.each(['2025-03-26', '2025-06-18', '2025-11-25'])('of %s is taken as it is', async (version) => {
    const { status, text, headers } = await send({ body: initialize(version) });
    expect(status).toBe(200);
    expect(text).toContain(`"protocolVersion":"${version}"`);
    expect(headers['mcp-session-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each(['*/*', '', 'application/json, */*;q=0.1'])('is held with who accepts %j', async (accept) => {
    const opened = await send({ headers: { accept }, body: initialize('2025-11-25') });
    expect(opened.status).toBe(200);
    const session = { accept, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect((await send({ headers: session, body: list })).text).toContain('"name":"spawn"');
  });

  it.each(['1999-01-01', '2024-11-05x', 'x'])(
    'of the unknown version %j is offered one that is known',
    async (version) => {
      const { status, text } = await send({ body: initialize(version) });
      expect(status).toBe(200);
      expect(text).toContain('"protocolVersion":"2025-11-25"');
    },
  );

  it('is not needed for 2026-07-28: one request is enough, and no session comes of it', async () => {
    const { status, text, headers } = await send(modern('tools/list'));
    expect(status).toBe(200);
    expect(text).toContain('"name":"spawn"');
    expect(headers['mcp-session-id']).toBeUndefined();
  });

  it('lists the tools alike in both eras, word for word, each time', async () => {
    const opened = await send({ body: initialize('2025-11-25') });
    const session = String(opened.headers['mcp-session-id']);
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const toolsOf = (text: string): unknown => {
      const line = text.split('\n').find((candidate) => candidate.startsWith('data: {')) ?? '';
      return (JSON.parse(line.slice(6)) as { result: { tools: unknown } }).result.tools;
    };
    const legacy = toolsOf((await send({ headers: { 'mcp-session-id': session }, body: list })).text);
    expect(toolsOf((await send(modern('tools/list'))).text)).toEqual(legacy);
    expect(toolsOf((await send(modern('tools/list'))).text)).toEqual(legacy);
  });
});

describe('sessions on the wire', () => {
  it('are 404 when unknown, whatever is asked of them', async () => {
    const headers = { 'mcp-session-id': 'gone' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect((await send({ headers, body })).status).toBe(404);
    expect((await send({ method: 'GET', headers })).status).toBe(404);
    expect((await send({ method: 'DELETE', headers })).status).toBe(404);
  });

  it('are new for an initialize with a stale id, and end with DELETE', async () => {
    const opened = await send({ headers: { 'mcp-session-id': 'gone' }, body: initialize('2025-06-18') });
    expect(opened.status).toBe(200);
    const headers = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    expect((await send({ method: 'DELETE', headers })).status).toBe(200);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect((await send({ headers, body })).status).toBe(404);
  });

  it('have an open stream whose head comes at once, and which may be opened again when it has broken', async () => {
    const opened = await send({ body: initialize('2025-06-18') });
    const headers = {
      'mcp-session-id': String(opened.headers['mcp-session-id']),
      accept: 'text/event-stream',
    };
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const stop = new AbortController();
      const { status } = await openStream(headers, stop.signal);
      stop.abort();
      expect(status).toBe(200);
    }
  });
});

/** Opens the stream of a session; a stream that the server still holds open for us is waited for. */
async function openStream(headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const response = await fetch(`${server.url}/mcp`, { headers, signal });
    if (response.status !== 409 || performance.now() > deadline) return response;
    await response.text();
  }
}

describe('a session', () => {
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });

  it.each(['2025-03-26', '2025-06-18', '2025-11-25'])(
    'of %s takes its version in a header, or none; answers batches; and refuses what is no message',
    async (version) => {
      const opened = await send({ body: initialize(version) });
      const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
      const ask = async (body: unknown, headers: Record<string, string> = {}) =>
        await send({ headers: { ...session, ...headers }, body: JSON.stringify(body) });
      expect((await ask(ping(1))).status).toBe(200);
      expect((await ask(ping(2), { 'mcp-protocol-version': version })).status).toBe(200);
      const unknown = await ask(ping(3), { 'mcp-protocol-version': '1999-01-01' });
      expect(unknown.status).toBe(400);
      expect(unknown.text).toContain('supported versions');
      const batch = await ask([ping(4), ping(5)]);
      expect(batch.text.match(/"id":[45]/g)?.toSorted()).toEqual(['"id":4', '"id":5']);
      expect((await ask({ jsonrpc: '1.0', id: 6, method: 'ping' })).text).toContain('-32600');
      expect((await ask({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
      expect((await ask({ jsonrpc: '2.0', id: 7, method: 'foo/bar' })).text).toContain('-32601');
      const tool = { name: 'nope', arguments: {} };
      const call = { jsonrpc: '2.0', id: 8, method: 'tools/call', params: tool };
      expect((await ask(call)).text).toContain('-32602');
    },
  );
});

describe('what is refused', () => {
  it.each([
    [{ host: 'evil.example' }, 403],
    [{ host: '127.0.0.1.evil.example:80' }, 403],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ host: 'localhost:1' }, 200],
    [{ origin: 'http://localhost:3000' }, 200],
    [{ origin: 'http://127.0.0.1:3000' }, 200],
  ])('on loopback %o gets %i', async (headers, status) => {
    expect((await send({ headers, body: initialize('2025-06-18') })).status).toBe(status);
  });

  it('is a foreign host for the other endpoints too', async () => {
    for (const path of ['/', '/metrics', '/healthz', '/readyz']) {
      expect((await send({ method: 'GET', path, headers: { host: 'evil.example' } })).status).toBe(403);
    }
  });

  it('is a body over 4 MiB, whether its length is told before or not', async () => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { x: 'x'.repeat(4_194_304) },
    });
    expect((await send({ body, headers: { 'content-length': String(body.length) } })).status).toBe(413);
    const parts = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(body));
        controller.close();
      },
    });
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const chunked = await fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers,
      body: parts,
      duplex: 'half',
    });
    expect(chunked.status).toBe(413);
  });

  it('is a body just under 4 MiB not', async () => {
    const x = 'x'.repeat(4_194_304 - 200);
    const call = { jsonrpc: '2.0', id: 1, method: 'ping', params: { x } };
    expect((await send({ body: JSON.stringify(call), headers: { 'mcp-session-id': 'gone' } })).status).toBe(
      404,
    );
  });

  it.each([
    ['{"jsonrpc":', 400, '-32700'],
    ['', 400, '-32700'],
    ['[]', 400, 'error'],
    ['"text"', 400, 'error'],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 400, 'Mcp-Session-Id header is required'],
  ])('is %j, with %i in JSON-RPC', async (body, status, words) => {
    const answer = await send({ body });
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(words);
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: '2.0' });
  });

  it('is a body that is not called JSON', async () => {
    const answer = await send({ headers: { 'content-type': 'text/plain' }, body: initialize('2025-06-18') });
    expect(answer.status).toBe(415);
  });

  it('is another method, and the answer names those that are served', async () => {
    for (const method of ['PUT', 'PATCH', 'OPTIONS', 'HEAD']) {
      const { status, headers } = await send({ method });
      expect([method, status, headers['allow']]).toEqual([method, 405, 'POST, GET, DELETE']);
    }
    const version = { 'mcp-protocol-version': '2026-07-28', 'mcp-session-id': 'gone' };
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await send({ method, headers: version });
      expect([method, status, headers['allow']]).toEqual([method, 405, 'POST']);
    }
  });

  it.each(['application/json', 'text/html'])('is a client that takes %s alone', async (accept) => {
    const { status, text } = await send({ headers: { accept }, body: initialize('2025-06-18') });
    expect(status).toBe(406);
    expect(text).toContain('must accept both application/json and text/event-stream');
  });
});

describe('the neighbours of /mcp', () => {
  it('are alive, but not ready without Temporal, and say so', async () => {
    expect((await send({ method: 'GET', path: '/healthz' })).status).toBe(200);
    const ready = await send({ method: 'GET', path: '/readyz' });
    expect(ready.status).toBe(503);
    expect(ready.text).toContain('Temporal at 127.0.0.1:9 does not answer');
  });

  it('count what is called', async () => {
    await send(modern('tools/call', { name: 'status', arguments: { handle: 'nonsense' } }));
    const { text } = await send({ method: 'GET', path: '/metrics' });
    expect(text).toMatch(/fermata_mcp_tool_calls_total\{tool="status",outcome="fault"\} [1-9]/);
    expect(text).toContain('fermata_mcp_watched_runs 0');
  });

  it('are a line of text at the root', async () => {
    expect((await send({ method: 'GET', path: '/' })).text).toContain('/mcp');
  });
});

describe('a server that is asked to stop', () => {
  /** A request whose head has come, and whose body is still on its way. */
  async function begun(url: string, { headers = {}, body = '' }: Sent) {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const all = {
      host: `${hostname}:${port}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': String(Buffer.byteLength(body)),
      // The answer to it says that the head was read.
      expect: '100-continue',
      ...headers,
    };
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    socket.write(['POST /mcp HTTP/1.1', ...head, '', ''].join('\r\n'));
    await once(socket, 'data');
    const answered = readText(socket);
    return { finish: () => socket.write(body), answered };
  }

  it('answers what is under way, in words that say to ask again, and lets nobody in', async () => {
    const stopping = await startServerAlone();
    const list = await begun(stopping.url, modern('tools/list'));
    const closing = stopping.close();
    list.finish();
    expect(await list.answered).toMatch(
      /^HTTP\/1\.1 503 [\s\S]*this server is stopping; send the request again/,
    );
    await closing;
    await expect(fetch(stopping.url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  });

  it('waits for no request that does not come to its end', async () => {
    const stopping = await startServerAlone();
    const hanging = await begun(stopping.url, modern('tools/list'));
    await stopping.close();
    // Cut off, without an answer.
    await expect(hanging.answered.catch(() => '')).resolves.toBe('');
  });
});
