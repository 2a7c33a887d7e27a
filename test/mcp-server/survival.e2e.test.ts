/** What holds when a part of the way from client to run is gone for a while, or for good. */
import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { startOwnTemporal } from '../own-temporal.ts';
import { connectClient, type ClientKind } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
});
afterAll(async () => {
  await stack.close();
});

const watched = 'fermata_mcp_watched_runs';
const active = 'fermata_mcp_tool_calls_active';
const bound = { timeout: 20_000, interval: 50 };

describe('the mcp-server', () => {
  it.each<ClientKind>(['modern', 'sdk'])(
    'can be restarted between spawn and await of a %s client',
    async (kind) => {
      const first = await stack.startServer();
      const before = await connectClient(kind, `${first.url}/mcp`);
      const held = stack.holding('kept');
      const { structured } = await before.call('spawn', { task: held.task });
      await first.close();
      await before.close().catch(() => undefined);
      const second = await stack.startServer();
      const after = await connectClient(kind, `${second.url}/mcp`);
      const waiting = after.call('await', { handles: [structured['handle']] });
      held.release();
      expect((await waiting).structured).toMatchObject({ done: true, runs: [{ result: 'kept' }] });
      await after.close();
    },
  );

  it('watches a run once, however many wait for it, and no longer than they do', async () => {
    const server = await stack.startServer();
    const clients = await Promise.all(
      (['modern', 'legacy', 'sdk'] as const).map(
        async (kind) => await connectClient(kind, `${server.url}/mcp`),
      ),
    );
    const held = stack.holding('shared');
    const handles = [(await clients[0]?.call('spawn', { task: held.task }))?.structured['handle']];
    const waiting = clients.map(async (client) => await client.call('await', { handles }));
    await vi.waitFor(async () => expect(await stack.metric(watched, server)).toBe(1), bound);
    held.release();
    for (const { structured } of await Promise.all(waiting)) {
      expect(structured).toMatchObject({ done: true, runs: [{ result: 'shared' }] });
    }
    expect(await stack.metric(watched, server)).toBe(0);
    for (const client of clients) await client.close();
  });

  it.each<ClientKind>(['modern', 'legacy', 'sdk'])(
    'stops to watch when the last %s client has cancelled its await, and the run goes on',
    async (kind) => {
      const server = await stack.startServer();
      const client = await connectClient(kind, `${server.url}/mcp`);
      const held = stack.holding('on');
      const { structured } = await client.call('spawn', { task: held.task });
      const handles = [structured['handle']];
      const leave = new AbortController();
      const left = client.call('await', { handles }, { signal: leave.signal });
      const stays = client.call('await', { handles });
      await vi.waitFor(async () => expect(await stack.metric(active, server)).toBe(2), bound);
      await vi.waitFor(async () => expect(await stack.metric(watched, server)).toBe(1), bound);
      leave.abort();
      await expect(left).rejects.toThrow(/abort/i);
      await vi.waitFor(async () => expect(await stack.metric(active, server)).toBe(1), bound);
      await vi.waitFor(async () => expect(await stack.metric(watched, server)).toBe(1), bound);
      held.release();
      expect((await stays).structured).toMatchObject({ done: true });
      const gone = new AbortController();
      const more = stack.holding('on');
      const again = await client.call('spawn', { task: more.task });
      const alone = client.call('await', { handles: [again.structured['handle']] }, { signal: gone.signal });
      await vi.waitFor(async () => expect(await stack.metric(watched, server)).toBe(1), bound);
      gone.abort();
      await expect(alone).rejects.toThrow(/abort/i);
      await vi.waitFor(async () => expect(await stack.metric(watched, server)).toBe(0), bound);
      more.release();
      await client.close();
    },
  );

  it('stops to watch when a client of a session has dropped its connection', async () => {
    const server = await stack.startServer();
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const post = async (body: unknown, session?: string): Promise<Response> =>
      await fetch(`${server.url}/mcp`, {
        method: 'POST',
        headers: session === undefined ? headers : { ...headers, 'mcp-session-id': session },
        body: JSON.stringify(body),
      });
    const clientInfo = { name: 'raw', version: '1' };
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo };
    const opened = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    await opened.text();
    const session = opened.headers.get('mcp-session-id') ?? '';
    const held = stack.holding('on');
    const spawn = { name: 'spawn', arguments: { task: held.task } };
    const spawned = await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: spawn }, session);
    const handle = /run_\w{22}/.exec(await spawned.text())?.[0];
    const wait = { name: 'await', arguments: { handles: [handle] } };
    const dropped = request(`${server.url}/mcp`, {
      method: 'POST',
      headers: { ...headers, 'mcp-session-id': session },
    });
    dropped.on('error', () => undefined);
    dropped.end(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: wait }));
    await once(dropped, 'response');
    await vi.waitFor(async () => expect(await stack.metric(watched, server)).toBe(1), bound);
    dropped.destroy();
    await vi.waitFor(async () => expect(await stack.metric(watched, server)).toBe(0), bound);
    held.release();
  });

  it('ends a wait in words when it is stopped', async () => {
    const server = await stack.startServer();
    const client = await connectClient('modern', `${server.url}/mcp`);
    const held = stack.holding('on');
    const { structured } = await client.call('spawn', { task: held.task });
    const waiting = client.call('await', { handles: [structured['handle']] });
    await vi.waitFor(async () => expect(await stack.metric(watched, server)).toBe(1), bound);
    await server.close();
    const { isError, text } = await waiting;
    expect(isError).toBe(true);
    expect(text).toContain('this server is stopping; runs are kept and go on');
    held.release();
    await client.close();
  });
});

describe('Temporal', () => {
  it('wins over a memo that is out of date: a terminated run has failed, with its reason', async () => {
    const client = await connectClient('modern', stack.mcpUrl);
    const held = stack.holding('on');
    const { structured } = await client.call('spawn', { task: held.task });
    const handles = [structured['handle']];
    const waiting = client.call('await', { handles });
    await stack.temporal.workflow.getHandle(String(handles[0])).terminate('by hand');
    const ended = { status: 'Failed', reason: 'terminated in Temporal: by hand' };
    expect((await waiting).structured).toMatchObject({ done: true, runs: [ended] });
    expect((await client.call('status', { handle: handles[0] })).structured).toMatchObject(ended);
    await client.close();
  });

  it('may be away when the server starts: readiness and tools say so, and both work when it is back', async () => {
    const temporal = await startOwnTemporal();
    const { address } = temporal;
    const mcp = await stack.startServer({ temporal: { address, namespace: 'default' } });
    const client = await connectClient('modern', `${mcp.url}/mcp`);
    expect((await fetch(`${mcp.url}/readyz`)).status).toBe(200);
    await temporal.kill();
    const away = await fetch(`${mcp.url}/readyz`);
    expect(away.status).toBe(503);
    expect(await away.text()).toContain(`Temporal at ${address} does not answer`);
    expect((await fetch(`${mcp.url}/healthz`)).status).toBe(200);
    // A call that is made while it is away waits for it.
    const early = client.call('spawn', { task: stack.saying('patient') });
    await temporal.start();
    const worker = await stack.startWorker(address);
    const { structured } = await early;
    expect(structured['handle']).toMatch(/^run_/);
    const { structured: ended } = await client.call('await', { handles: [structured['handle']] });
    expect(ended).toMatchObject({ done: true, runs: [{ result: 'patient' }] });
    expect((await fetch(`${mcp.url}/readyz`)).status).toBe(200);
    await client.close();
    await worker.close();
    await mcp.close();
    await temporal.close();
  });

  it('may be restarted while a client awaits: the answer comes all the same', async () => {
    const temporal = await startOwnTemporal({ keeps: true });
    const { address } = temporal;
    const worker = await stack.startWorker(address);
    const mcp = await stack.startServer({ temporal: { address, namespace: 'default' } });
    const client = await connectClient('modern', `${mcp.url}/mcp`);
    const held = stack.holding('outlived');
    const { structured } = await client.call('spawn', { task: held.task });
    await held.held;
    const waiting = client.call('await', { handles: [structured['handle']] });
    await vi.waitFor(async () => expect(await stack.metric(watched, mcp)).toBe(1), bound);
    await temporal.kill();
    await temporal.start();
    held.release();
    expect((await waiting).structured).toMatchObject({ done: true, runs: [{ result: 'outlived' }] });
    await client.close();
    await mcp.close();
    await worker.close();
    await temporal.close();
  });

  it('that stays away is told in words, within a bound', async () => {
    const mcp = await stack.startServer({
      temporal: { address: '127.0.0.1:9', namespace: 'default' },
      temporalCallMs: 1_000,
    });
    const client = await connectClient('modern', `${mcp.url}/mcp`);
    const { isError, text } = await client.call('spawn', { task: stack.saying('x') });
    expect(isError).toBe(true);
    expect(text).toContain('Temporal at 127.0.0.1:9 does not answer');
    expect(text).toContain('try again');
    await client.close();
  });

  it('without the namespace is told in words', async () => {
    const { address } = stack.config.temporal;
    const mcp = await stack.startServer({ temporal: { address, namespace: 'nowhere' } });
    const client = await connectClient('modern', `${mcp.url}/mcp`);
    const { isError, text } = await client.call('spawn', { task: stack.saying('x') });
    expect(isError).toBe(true);
    expect(text).toContain("Temporal has no namespace 'nowhere'");
    expect(await (await fetch(`${mcp.url}/readyz`)).text()).toContain("no namespace 'nowhere'");
    await client.close();
  });
});

describe('the worker', () => {
  it('may be away: a run is taken, told of, and found running', async () => {
    const mcp = await stack.startServer({ taskQueue: 'nobody-works-here', toolListingMs: 300 });
    const client = await connectClient('modern', `${mcp.url}/mcp`);
    const { structured } = await client.call('spawn', { task: 'later' });
    const { handle } = structured;
    const seen = await client.call('status', { handle });
    expect(seen.structured).toMatchObject({
      status: 'Running',
      phase: 'starting',
      task: 'later',
      usage: { turns: 0 },
    });
    expect((await client.call('await', { handles: [handle], timeoutSeconds: 0 })).structured).toMatchObject({
      done: false,
    });
    expect((await client.call('cancel', { handle })).structured).toMatchObject({ reached: 1 });
    for (const [tool, args] of [
      ['tools', {}],
      ['spawn', { task: 'x', tools: ['desk__lookup'] }],
    ] as const) {
      const { isError, text } = await client.call(tool, args);
      expect(isError).toBe(true);
      expect(text).toContain("no worker answered within 0.3 s on the task queue 'nobody-works-here'");
    }
    await stack.temporal.workflow.getHandle(String(handle)).terminate();
    await client.close();
  });
});

describe('the proxy', () => {
  it('may be away: a model is taken unchecked, and that is said', async () => {
    const mcp = await stack.startServer({ proxyUrl: 'http://127.0.0.1:9' });
    const client = await connectClient('modern', `${mcp.url}/mcp`);
    const { structured, isError } = await client.call('spawn', { task: stack.saying('x'), model: 'any' });
    expect(isError).toBe(false);
    expect(structured['notes']).toEqual([expect.stringContaining("model 'any' was not checked")]);
    const decided = await client.call('decide', { input: 'x', labels: ['a', 'b'] });
    expect(decided.isError).toBe(true);
    expect(decided.text).toContain('cannot be reached');
    await client.close();
  });
});
