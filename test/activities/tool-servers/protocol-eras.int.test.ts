import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, it } from 'vitest';
import { call, failureOf, noSignal, tool, useScriptedServers } from './scripted-servers.ts';
import { startSessionServer } from './session-server.ts';

const { config: scripted, open, sent, folder } = useScriptedServers();
const limits = { idleTimeoutMs: 60_000, totalTimeoutMs: 600_000 };
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const overHttp = (url: string) => ({ s: { url, headers: {}, ...limits } });

describe('over stdio', () => {
  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'a server of %s is served',
    async (version) => {
      const script = { versions: [version], tools: [tool('a')], onCall: { a: { resultAfterMs: 0 } } };
      const registry = open({ s: scripted(script) });
      expect((await registry.list(null, noSignal)).tools).toHaveLength(1);
      await registry.call('s', call('a'), noSignal);
    },
  );

  it('a server of 2026-07-28 that refuses older clients is served', async () => {
    const program = join(import.meta.dirname, '../../../testkit/tool-server/stdio-main.ts');
    const log = join(folder(), 'calls');
    const args = ['--import', 'tsx', program, '--newest-only', '--delay-scale', '0', '--call-log', log];
    const registry = open({ s: { command: process.execPath, args, env: {}, ...limits } });
    const lookup = { tool: 'lookup', arguments: { topic: 'x' }, idempotencyKey: 'run_1:c1' };
    expect(JSON.stringify(await registry.call('s', lookup, noSignal))).toContain('x: ');
    expect((await registry.list(null, noSignal)).tools.map(({ name }) => name)).toContain('s__lookup');
  });

  it('a server of no version that is known is left out with a warning', async () => {
    const { tools, warnings } = await open({ s: scripted({ versions: ['1999-01-01'] }) }).list(
      null,
      noSignal,
    );
    expect(tools).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/^s: .*its tools are left out$/)]);
  });

  it('a server is left out after five seconds where it hangs on its list, while the others serve', async () => {
    const registry = open({
      good: scripted({ tools: [tool('a')] }),
      mute: scripted({ silent: ['tools/list'] }),
    });
    const { tools, warnings } = await registry.list(null, noSignal);
    expect(tools.map(({ name }) => name)).toEqual(['good__a']);
    expect(warnings).toEqual([expect.stringContaining('mute: did not answer within 5 s')]);
    expect(sent('tools/list')).toHaveLength(2);
  });
});

describe('over HTTP', () => {
  it.each([
    ['an error', { status: 500, contentType: 'text/plain', body: 'no such method' }],
    ['a page', { status: 200, contentType: 'text/html', body: '<p>hello</p>' }],
    ['nothing at all', 'nothing' as const],
  ])(
    'a server that answers the question for the newer era with %s is served in the older',
    async (_what, probe) => {
      const server = await startSessionServer({ probe });
      closers.push(async () => await server.close());
      const registry = open(overHttp(server.url));
      await registry.call('s', call('a'), noSignal);
      server.loseSessions();
      await registry.call('s', call('a', 'again'), noSignal);
      expect(server.methods().filter((method) => method === 'server/discover')).toHaveLength(1);
      expect(server.executed()).toHaveLength(2);
    },
  );

  it('a server that wants other credentials is asked once, and says so', async () => {
    const probe = { status: 401, contentType: 'text/plain', body: 'who are you?' };
    const server = await startSessionServer({ probe });
    closers.push(async () => await server.close());
    const failure = await failureOf(open(overHttp(server.url)).call('s', call('a'), noSignal));
    expect(failure).toMatchObject({ outcome: 'not-sent' });
    expect(failure.message).toContain('HTTP 401');
    expect(server.methods()).toEqual(['server/discover']);
  });

  it('a change of the tools is heard in the newer era, and a lost subscription too', async () => {
    const names = ['alpha'];
    let lists = 0;
    const handler = createMcpHandler(
      () => {
        const server = new McpServer(
          { name: 'changing', version: '1' },
          { capabilities: { tools: { listChanged: true } } },
        );
        for (const name of names)
          server.registerTool(name, {}, async () => ({ content: [{ type: 'text', text: name }] }));
        return server;
      },
      { legacy: 'reject' },
    );
    const serve = toNodeHandler(handler);
    const server = createServer((request, response) => {
      if (request.headers['mcp-method'] === 'tools/list') lists += 1;
      void serve(request as Parameters<typeof serve>[0], response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(async () => {
      await handler.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    });
    const registry = open(overHttp(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
    const listed = async (): Promise<string[]> =>
      (await registry.list(null, noSignal)).tools.map(({ serverTool }) => serverTool);
    expect(await listed()).toEqual(['alpha']);
    expect(await listed()).toEqual(['alpha']);
    expect(lists).toBe(1);
    names.splice(0, 1, 'beta', 'gamma');
    handler.notify.toolsChanged();
    await expect.poll(listed).toEqual(['beta', 'gamma']);
    expect((await failureOf(registry.call('s', call('alpha'), noSignal))).message).toContain('beta, gamma');
  });
});
