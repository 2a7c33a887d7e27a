import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { inflateSync } from 'node:zlib';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { startToolServer, type ToolServer } from '../../../testkit/tool-server/host.ts';

let folder = '';
let server: ToolServer;
const open: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tool-server-'));
  server = await startToolServer({ delayScale: 0.01, callLogPath: join(folder, 'calls.jsonl') });
});
afterEach(async () => {
  for (const part of open.splice(0)) await part.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

interface Caller {
  call(
    name: string,
    values: Record<string, unknown>,
    options?: { meta?: Record<string, unknown>; signal?: AbortSignal },
  ): Promise<unknown>;
  tools(): Promise<{ name: string; annotations?: object | undefined }[]>;
}

const info = { name: 'test', version: '1.0.0' };

async function connect(mode: 'legacy' | { pin: '2026-07-28' }): Promise<Caller> {
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
  open.push(client);
  return {
    call: async (name, values, { meta, signal } = {}) =>
      await client.callTool(
        { name, arguments: values, ...(meta === undefined ? {} : { _meta: meta }) },
        signal === undefined ? {} : { signal },
      ),
    tools: async () => (await client.listTools()).tools,
  };
}

async function connectOld(): Promise<Caller> {
  const client = new OldClient(info);
  const transport = new OldTransport(new URL(server.url));
  await client.connect(transport);
  open.push(client);
  return {
    call: async (name, values, { meta, signal } = {}) =>
      await client.callTool(
        { name, arguments: values, ...(meta === undefined ? {} : { _meta: meta }) },
        undefined,
        signal === undefined ? {} : { signal },
      ),
    tools: async () => (await client.listTools()).tools,
  };
}

const lineSchema = z.strictObject({
  at: z.iso.datetime(),
  call: z.int(),
  tool: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  idempotencyKey: z.string().nullable(),
  phase: z.enum(['started', 'finished', 'failed', 'cancelled']),
});

async function readLines(path = join(folder, 'calls.jsonl')): Promise<z.infer<typeof lineSchema>[]> {
  const text = await readFile(path, 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => lineSchema.parse(JSON.parse(line)));
}

describe.each([
  ['a client of the 2026-07-28 protocol', async () => await connect({ pin: '2026-07-28' })],
  ['a client of the 2025-11-25 protocol', async () => await connect('legacy')],
  ['the old client package', connectOld],
] as const)('%s', (_name, connectClient) => {
  it('sees what each tool may do', async () => {
    const tools = await (await connectClient()).tools();
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    expect(hints).toMatchObject({
      lookup: { readOnlyHint: true },
      deep_search: { readOnlyHint: true },
      delete_page: { readOnlyHint: false, destructiveHint: true },
      add_note: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
      wait: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
      fail: {},
      hang: {},
    });
  });

  it('gets the same result for the same arguments, and an error result from fail', async () => {
    const caller = await connectClient();
    const first = await caller.call('lookup', { topic: 'the moon' });
    expect(first).toMatchObject({
      content: [{ type: 'text', text: expect.stringMatching(/^the moon: .{20,}/) }],
    });
    expect(await caller.call('lookup', { topic: 'the moon' })).toEqual(first);
    expect(await caller.call('fail', {})).toMatchObject({ isError: true });
    expect(server.calls().tools).toMatchObject({ lookup: { finished: 2 }, fail: { failed: 1 } });
  });

  it('gets pictures that are real ones, as many and as large as it asks for', async () => {
    const caller = await connectClient();
    const answer = await caller.call('picture', { scene: 'a pier', count: 2, width: 64 });
    const { content } = z
      .object({ content: z.array(z.looseObject({ type: z.string(), data: z.string().optional() })) })
      .parse(answer);
    expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'image']);
    for (const { data = '' } of content.slice(1)) {
      const bytes = Buffer.from(data, 'base64');
      expect(bytes.subarray(1, 4).toString()).toBe('PNG');
      expect(bytes.readUInt32BE(16)).toBe(64);
      const length = bytes.readUInt32BE(33);
      expect(inflateSync(bytes.subarray(41, 41 + length))).toHaveLength(64 * 65);
    }
    expect(content[1]?.data).not.toBe(content[2]?.data);
  });

  it('is counted by tool and idempotency key, and written down before and after', async () => {
    const caller = await connectClient();
    const meta = { 'fermata/idempotency-key': 'run_1:call_1' };
    await caller.call('add_note', { text: 'once' }, { meta });
    await caller.call('add_note', { text: 'once' }, { meta });
    const counts: unknown = await (await fetch(server.url.replace(/\/mcp$/, '/calls'))).json();
    expect(counts).toMatchObject({
      running: 0,
      tools: { add_note: { started: 2, finished: 2 } },
      keys: { 'run_1:call_1': { tool: 'add_note', started: 2, finished: 2 } },
    });
    expect((await readLines()).map(({ call, phase }) => [call, phase])).toEqual([
      [1, 'started'],
      [1, 'finished'],
      [2, 'started'],
      [2, 'finished'],
    ]);
  });

  it('that cancels a call stops the tool, and the log says so', async () => {
    const caller = await connectClient();
    for (const [name, values] of [
      ['wait', { milliseconds: 60_000 }],
      ['hang', {}],
    ] as const) {
      const leave = new AbortController();
      const call = caller.call(name, values, { signal: leave.signal });
      await server.waitFor(({ running }) => running === 1);
      leave.abort();
      await expect(call).rejects.toThrow(/abort/i);
      await server.waitFor(({ tools }) => tools[name]?.cancelled === 1);
    }
    expect((await readLines()).map(({ phase }) => phase)).toEqual([
      'started',
      'cancelled',
      'started',
      'cancelled',
    ]);
  });
});

it('refuses arguments that do not fit without running the tool', async () => {
  const caller = await connect({ pin: '2026-07-28' });
  const answer = await caller.call('wait', { milliseconds: '5' }).catch((error: unknown) => error);
  expect(answer).toSatisfy(
    (value) => value instanceof Error || (value as { isError?: boolean }).isError === true,
  );
  expect(server.calls().tools).toEqual({});
});

it('asks a client whose session is gone to start anew', async () => {
  const response = await fetch(server.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': 'gone',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  expect(response.status).toBe(404);
});

describe('over stdio', () => {
  const main = resolve(import.meta.dirname, '../../../testkit/tool-server/stdio-main.ts');

  it('serves the same tools and writes the same log', async () => {
    const path = join(folder, 'stdio.jsonl');
    const args = ['--import', 'tsx', main, '--delay-scale', '0.01', '--call-log', path];
    const client = new Client(info);
    await client.connect(new StdioClientTransport({ command: process.execPath, args }));
    open.push(client);
    const answer = await client.callTool({ name: 'lookup', arguments: { topic: 'the sun' } });
    expect(answer).toMatchObject({ content: [{ text: expect.stringMatching(/^the sun: /) }] });
    expect((await readLines(path)).map(({ phase }) => phase)).toEqual(['started', 'finished']);
  });

  it('ends when its stdin closes, even with a call under way', async () => {
    const path = join(folder, 'stdio.jsonl');
    const child = spawn(process.execPath, ['--import', 'tsx', main, '--call-log', path], { stdio: 'pipe' });
    const ended = new Promise<number | null>((done) => {
      child.once('exit', done);
    });
    const send = (message: object): void => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info };
    send({ id: 1, method: 'initialize', params });
    await new Promise((done) => {
      child.stdout.once('data', done);
    });
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'hang', arguments: {} } });
    await vi.waitFor(async () => await readLines(path), { timeout: 10_000 });
    child.stdin.end();
    expect(await ended).toBe(0);
    expect((await readLines(path))[0]).toMatchObject({ tool: 'hang', phase: 'started' });
  });
});
