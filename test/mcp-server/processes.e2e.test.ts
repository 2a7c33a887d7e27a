/** The MCP server as processes of its own: over stdio, and as a service. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text as readText } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as SdkClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as SdkStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { connectClient, toReply } from './mcp-clients.ts';
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

const root = resolve(import.meta.dirname, '..', '..');
const entry = resolve(import.meta.dirname, 'stdio-main.ts');

function command() {
  const { proxyUrl } = stack;
  const { temporal, taskQueue } = stack.config;
  const args = ['--import', 'tsx', entry, temporal.address, taskQueue, proxyUrl];
  return { command: process.execPath, args, cwd: root, stderr: 'pipe' as const };
}

describe('over stdio', () => {
  it.each(['modern', 'legacy', 'sdk'] as const)(
    'a %s client spawns, hears of progress, and awaits',
    async (kind) => {
      const info = { name: `stdio-${kind}`, version: '1' };
      const seen: string[] = [];
      const options = {
        timeout: 60_000,
        onprogress: ({ message }: { message?: string | undefined }) => {
          seen.push(message ?? '');
        },
      };
      let call: (name: string, args: Record<string, unknown>) => Promise<unknown>;
      let close: () => Promise<void>;
      if (kind === 'sdk') {
        const client = new SdkClient(info);
        await client.connect(new SdkStdioTransport(command()));
        call = async (name, args) => await client.callTool({ name, arguments: args }, undefined, options);
        close = () => client.close();
      } else {
        const mode = kind === 'modern' ? { pin: '2026-07-28' } : ('legacy' as const);
        const client = new Client(info, { versionNegotiation: { mode } });
        await client.connect(new StdioClientTransport(command()));
        call = async (name, args) => await client.callTool({ name, arguments: args }, options);
        close = () => client.close();
      }
      const held = stack.holding('piped');
      const { handle } = toReply(await call('spawn', { task: held.task })).structured;
      const waiting = call('await', { handles: [handle] });
      await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThan(1);
      held.release();
      expect(toReply(await waiting).structured).toMatchObject({ done: true, runs: [{ result: 'piped' }] });
      const { caller } = toReply(await call('status', { handle })).structured;
      expect(caller).toBe(`stdio-${kind}@stdio`);
      await close();
    },
  );

  it('writes nothing but protocol to stdout, logs to stderr, and ends when its client does', async () => {
    const { command: program, args, cwd } = command();
    const child = spawn(program, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    const logs = readText(child.stderr);
    const exit = once(child, 'exit');
    const lines: string[] = [];
    const output = createInterface({ input: child.stdout });
    output.on('line', (line) => lines.push(line));
    const send = (message: Record<string, unknown>) => child.stdin.write(`${JSON.stringify(message)}\n`);
    const clientInfo = { name: 'raw', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    child.stdin.write('this is no JSON\n');
    send({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'spawn', arguments: { task: '' } } });
    const task = stack.saying('x');
    send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'spawn', arguments: { task } } });
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(3);
    child.stdin.end();
    expect(await exit).toEqual([0, null]);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    expect(await logs).toContain('"tool":"spawn"');
  });

  it('ends though a call is waiting when its client goes', async () => {
    const client = new Client({ name: 'leaver', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
    const transport = new StdioClientTransport(command());
    await client.connect(transport);
    const held = stack.holding('on');
    const spawned = toReply(await client.callTool({ name: 'spawn', arguments: { task: held.task } }));
    const { handle } = spawned.structured;
    let waits = 0;
    const onprogress = (): void => {
      waits += 1;
    };
    const waiting = client.callTool({ name: 'await', arguments: { handles: [handle] } }, { onprogress });
    const lost = waiting.catch((error: unknown) => error);
    await expect.poll(() => waits, { timeout: 20_000 }).toBeGreaterThan(0);
    const { pid } = transport;
    await client.close();
    expect(String(await lost)).toMatch(/closed/i);
    await expect.poll(() => isAlive(pid ?? 0), { timeout: 20_000 }).toBe(false);
    held.release();
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('as a service', () => {
  const main = resolve(root, 'mcp-server', 'main.ts');

  it('prints one ready line with its address, serves, and stops on SIGTERM', async () => {
    const child = spawn(process.execPath, ['--import', 'tsx', main], {
      cwd: root,
      env: {
        PATH: process.env['PATH'],
        FERMATA_MCP_PORT: '0',
        FERMATA_PROXY_URL: stack.proxyUrl,
        FERMATA_TASK_QUEUE: stack.config.taskQueue,
        TEMPORAL_ADDRESS: stack.config.temporal.address,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const exit = once(child, 'exit');
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBe(1);
    const [, url = ''] = /^fermata mcp-server is ready at (http:\S+)$/.exec(lines[0] ?? '') ?? [];
    const client = await connectClient('modern', `${url}/mcp`);
    expect((await client.call('run', { task: stack.saying('served') })).structured).toMatchObject({
      runs: [{ result: 'served' }],
    });
    await client.close();
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    expect(lines).toHaveLength(1);
  });

  it('does not start with a setting it cannot use, and says why in one line', async () => {
    const child = spawn(process.execPath, ['--import', 'tsx', main], {
      cwd: root,
      env: { PATH: process.env['PATH'], FERMATA_MCP_PORT: '99999' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [said, [code]] = await Promise.all([readText(child.stderr), once(child, 'exit')]);
    expect(code).toBe(1);
    expect(said).toMatch(/^fermata mcp-server cannot start: FERMATA_MCP_PORT: got '99999'.*\n$/);
  });
});
