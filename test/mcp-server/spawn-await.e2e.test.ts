import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createMcpServer, type McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { connectClient, type ClientKind, type TestClient } from './mcp-clients.ts';
import { quietTemporal, startScriptedWorker, type ScriptedWorker } from './scripted-worker.ts';

let worker: ScriptedWorker;
let server: McpServerHandle;
let connection: Connection;
let temporal: Client;

beforeAll(async () => {
  quietTemporal();
  const address = inject('temporalAddress');
  worker = await startScriptedWorker(address);
  connection = await Connection.connect({ address });
  temporal = new Client({ connection });
  server = await createMcpServer(
    {
      host: '127.0.0.1',
      port: 0,
      temporal: { address, namespace: 'default' },
      taskQueue: worker.taskQueue,
      proxyUrl: 'http://127.0.0.1:9',
      progressMs: 50,
    },
    { logger: pino({ level: 'silent' }) },
  );
});

afterAll(async () => {
  await server.close();
  await connection.close();
  await worker.close();
});

async function finish(handle: unknown, words: string): Promise<void> {
  await temporal.workflow.getHandle(String(handle)).signal('finish', words);
}

const kinds: ClientKind[] = ['modern', 'legacy', 'sdk'];
describe.each(kinds)('a %s client', (kind) => {
  let client: TestClient;
  beforeAll(async () => {
    client = await connectClient(kind, `${server.url}/mcp`);
  });
  afterAll(async () => {
    await client.close();
  });

  it('sees the tools in their order', async () => {
    expect(await client.toolNames()).toEqual([
      'spawn',
      'await',
      'run',
      'status',
      'cancel',
      'tools',
      'decide',
    ]);
  });

  it('spawns runs and awaits all of them in one call', async () => {
    const first = await client.call('spawn', { task: 'say one' });
    const second = await client.call('spawn', { task: 'say two' });
    const { structured, text } = await client.call('await', {
      handles: [first.structured['handle'], second.structured['handle']],
    });
    expect(structured).toMatchObject({
      done: true,
      runs: [
        {
          handle: first.structured['handle'],
          status: 'Completed',
          result: 'one',
          toolCalls: 1,
          failedToolCalls: 1,
        },
        { handle: second.structured['handle'], status: 'Completed', result: 'two' },
      ],
    });
    expect(text).toContain('one');
    expect(text).toContain('two');
  });

  it('awaits any of several runs, and gets the one that has ended', async () => {
    const slow = await client.call('spawn', { task: 'wait' });
    const fast = await client.call('spawn', { task: 'wait' });
    const handles = [slow.structured['handle'], fast.structured['handle']];
    const waiting = client.call('await', { handles, mode: 'any' });
    await finish(handles[1], 'here');
    expect((await waiting).structured).toMatchObject({
      done: true,
      runs: [{ status: 'Running' }, { status: 'Completed', result: 'here' }],
    });
    await finish(handles[0], 'late');
  });

  it('is told that time is up, and goes on waiting with the same handle', async () => {
    const { structured } = await client.call('spawn', { task: 'wait' });
    const handles = [structured['handle']];
    const early = await client.call('await', { handles, timeoutSeconds: 0.2 });
    expect(early.structured).toMatchObject({ done: false, runs: [{ status: 'Running' }] });
    expect(early.text).toContain('await again');
    const waiting = client.call('await', { handles });
    await finish(handles[0], 'at last');
    expect((await waiting).structured).toMatchObject({ done: true, runs: [{ result: 'at last' }] });
  });

  it('hears of progress while it waits', async () => {
    const { structured } = await client.call('spawn', { task: 'wait' });
    const seen: { progress: number; message?: string | undefined }[] = [];
    const waiting = client.call(
      'await',
      { handles: [structured['handle']] },
      {
        onprogress: (progress) => {
          seen.push(progress);
          if (seen.length === 3) void finish(structured['handle'], 'heard');
        },
      },
    );
    expect((await waiting).structured).toMatchObject({ done: true });
    expect(seen[1]?.message).toContain('0 of 1 ended');
    expect(seen[1]?.message).toContain('model turn 1');
    expect(seen.map(({ progress }) => progress)).toEqual(
      seen.map(({ progress }) => progress).toSorted((a, b) => a - b),
    );
  });
});
