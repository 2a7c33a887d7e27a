/** Who is let in at `/mcp` and `/api`, in both eras, and what a client that looks for a login finds. */
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { logSerializers } from '../../auth/log-serializers.ts';
import { createMcpServer, type McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { bearer, namedToken, serviceToken, testAccess, tokenOf } from '../auth/test-access.ts';
import { connectClient } from './mcp-clients.ts';

let server: McpServerHandle;
let log: string[] = [];
beforeAll(async () => {
  server = await createMcpServer(
    {
      host: '127.0.0.1',
      port: 0,
      temporal: { address: '127.0.0.1:9', namespace: 'default' },
      temporalCallMs: 200,
      taskQueue: 'none',
      proxyUrl: 'http://127.0.0.1:9',
    },
    {
      logger: pino(
        { level: 'trace', serializers: logSerializers },
        { write: (line: string) => void log.push(line) },
      ),
      access: testAccess([namedToken('ann'), namedToken('bob')]),
    },
  );
});
afterAll(async () => {
  await server.close();
});
beforeEach(() => {
  log = [];
});

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function initialize(): string {
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'c', version: '1' },
  };
  return JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
}

async function post(headers: Record<string, string>, body = initialize(), path = '/mcp'): Promise<Response> {
  return await fetch(`${server.url}${path}`, { method: 'POST', headers: { ...json, ...headers }, body });
}

const denied: [string, Record<string, string>][] = [
  ['no token', {}],
  ['a wrong token', bearer('a-wrong-token')],
  ['a key of Anthropic\u2019s kind', { 'x-api-key': serviceToken }],
];

describe('the door of the mcp-server', () => {
  it.each(denied)('is shut to %s, whatever the era, method or path', async (_, headers) => {
    const modern = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
    const answers = await Promise.all([
      post(headers),
      post({ ...headers, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }, modern),
      post({ ...headers, 'mcp-session-id': 'x' }, modern),
      fetch(`${server.url}/mcp`, { headers }),
      fetch(`${server.url}/mcp`, { method: 'DELETE', headers }),
      fetch(`${server.url}/%6Dcp`, { headers }),
      fetch(`${server.url}/api/runs`, { headers }),
      post(headers, '{}', '/api/anything'),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(await answer.json()).toMatchObject({
        error: { type: 'authentication_error', code: 'unauthorized' },
      });
    }
    expect(log.join('')).not.toContain('a-wrong-token');
    expect(log.join('')).not.toContain(serviceToken);
  });

  it('is open to each known token, and no log line has it', async () => {
    for (const token of [serviceToken, tokenOf('ann')]) {
      expect((await post(bearer(token))).status).toBe(200);
      for (const kind of ['modern', 'legacy', 'sdk'] as const) {
        const client = await connectClient(kind, `${server.url}/mcp`, 'test', bearer(token));
        expect(await client.toolNames()).toContain('spawn');
        await client.call('status', { handle: 'nonsense' });
        await client.close();
      }
      // Let in: it is Temporal that is missing here.
      expect((await fetch(`${server.url}/api/runs`, { headers: bearer(token) })).status).toBe(503);
      expect(log.join('')).toContain('"tool":"status"');
      expect(log.join('')).not.toContain(token);
    }
    expect(log.join('')).toContain('"caller":"ann"');
  });

  it('leaves the page, health and metrics open', async () => {
    for (const path of ['/', '/healthz', '/readyz', '/metrics']) {
      expect([path, [200, 503].includes((await fetch(`${server.url}${path}`)).status)]).toEqual([path, true]);
    }
  });

  it('keeps a session for the one who opened it: for another it does not exist', async () => {
    const opened = await post(bearer(tokenOf('ann')));
    const session = { 'mcp-session-id': String(opened.headers.get('mcp-session-id')) };
    await opened.text();
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    for (const token of [tokenOf('bob'), serviceToken]) {
      const others = { ...bearer(token), ...session };
      expect((await post(others, list)).status).toBe(404);
      expect((await fetch(`${server.url}/mcp`, { method: 'DELETE', headers: others })).status).toBe(404);
    }
    expect((await post(session, list)).status).toBe(401);
    expect((await post({ ...bearer(tokenOf('ann')), ...session }, list)).status).toBe(200);
  });
});

describe('a client that looks for a login when it is refused', () => {
  it('finds none: each place where one could be is a plain 404', async () => {
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-authorization-server/mcp',
      '/.well-known/openid-configuration',
      '/mcp/.well-known/openid-configuration',
      '/authorize',
      '/token',
    ]) {
      const answer = await fetch(`${server.url}${path}`);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(await answer.json()).toMatchObject({
        error_description: expect.stringContaining('Bearer TOKEN'),
      });
    }
  });

  it('is told in words what to send, by the package that clients are built with', async () => {
    const provider = {
      redirectUrl: 'http://127.0.0.1:9/callback',
      clientMetadata: { redirect_uris: ['http://127.0.0.1:9/callback'] },
      clientInformation: () => undefined,
      saveClientInformation: () => {},
      tokens: () => undefined,
      saveTokens: () => {},
      redirectToAuthorization: () => {},
      saveCodeVerifier: () => {},
      codeVerifier: () => '',
    };
    await expect(auth(provider, { serverUrl: `${server.url}/mcp` })).rejects.toThrow(
      'fermata has no OAuth; configure the client to send its token in the header Authorization, as Bearer TOKEN',
    );
  });

  it('that has no login of its own fails with the words of the refusal', async () => {
    const client = new Client({ name: 'plain', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`));
    await expect(client.connect(transport)).rejects.toThrow(/401|send one as Authorization: Bearer TOKEN/);
  });
});
