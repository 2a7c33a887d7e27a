/**
 * Readers of runs that go on in several workflow executions: whoever has a handle sees one run. Temporal
 * asks for a new execution every forty events here.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { OwnTemporal } from '../own-temporal.ts';
import { startShortHistoryServer } from '../short-history-server.ts';
import { connectClient, type TestClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let server: OwnTemporal;
let stack: Stack;
let client: TestClient;

beforeAll(async () => {
  server = await startShortHistoryServer();
  stack = await startStack({
    temporalAddress: server.address,
    workflowBundlePath: inject('workflowBundlePath'),
  });
  client = await connectClient('modern', stack.mcpUrl);
});
afterAll(async () => {
  await client?.close();
  await stack?.close();
  await server?.close();
});

/** A task that looks something up so often, then answers. */
const looking = (times: number, answer: string): string =>
  `look ${randomUUID()} [[sim ${JSON.stringify({ calls: ['lookup'], repeat: times, answer })}]]`;

const executionOf = async (handle: string): Promise<string> =>
  (await stack.temporal.workflow.getHandle(handle).describe()).runId;

async function spawn(request: Record<string, unknown>): Promise<{ handle: string; first: string }> {
  const { structured, text, isError } = await client.call('spawn', { maxToolCalls: 1_000, ...request });
  if (isError) throw new Error(text);
  const handle = String(structured['handle']);
  return { handle, first: await executionOf(handle) };
}

/** Resolves when the run is in another execution than the first one. */
async function switched({ handle, first }: { handle: string; first: string }): Promise<void> {
  await vi.waitFor(async () => expect(await executionOf(handle)).not.toBe(first), {
    timeout: 60_000,
    interval: 50,
  });
}

const awaited = async (handle: string): Promise<Record<string, unknown>> => {
  const { structured } = await client.call('await', { handles: [handle], timeoutSeconds: 45 });
  return (structured['runs'] as Record<string, unknown>[])[0] ?? {};
};

describe('a run in several workflow executions', () => {
  it('is one run to those who await it, look at it, list it and spawn it again', async () => {
    const request = { task: looking(16, 'found'), requestId: randomUUID() };
    const run = await spawn(request);
    const begun = await stack.temporal.workflow.getHandle(run.handle).describe();
    const ended = awaited(run.handle);
    await switched(run);
    const again = await client.call('spawn', { maxToolCalls: 1_000, ...request });
    expect(again.structured).toMatchObject({ handle: run.handle, existing: true });
    const running = await client.call('status', { handle: run.handle });
    expect(running.structured['startedAt']).toBe(begun.startTime.toISOString());
    expect(await ended).toMatchObject({ status: 'Completed', result: 'found', toolCalls: 16 });
    const status = await client.call('status', { handle: run.handle });
    expect(status.structured).toMatchObject({
      status: 'Completed',
      startedAt: begun.startTime.toISOString(),
      usage: { turns: 17 },
    });
    await vi.waitFor(
      async () => {
        const { structured } = await client.call('status', {});
        const listed = structured['runs'] as { handle: string; status: string; startedAt: string }[];
        expect(listed.filter(({ handle }) => handle === run.handle)).toEqual([
          expect.objectContaining({ status: 'Completed', startedAt: begun.startTime.toISOString() }),
        ]);
      },
      { timeout: 20_000, interval: 200 },
    );
    const repeated = await client.call('spawn', { maxToolCalls: 1_000, ...request });
    expect(repeated.structured).toMatchObject({ handle: run.handle, existing: true, status: 'Completed' });
  });

  it('is cancelled as a whole, with the reason', async () => {
    const run = await spawn({ task: looking(900, 'never') });
    await switched(run);
    await client.call('cancel', { handle: run.handle, reason: 'enough of it' });
    expect(await awaited(run.handle)).toMatchObject({ status: 'Cancelled', reason: 'enough of it' });
  });

  it('spends one budget, and ends at it', async () => {
    const run = await spawn({ task: looking(900, 'never'), budgetToolCalls: 14 });
    await switched(run);
    const ended = await awaited(run.handle);
    expect(ended).toMatchObject({ status: 'Cancelled', toolCalls: 14 });
    expect(ended['reason']).toMatch(/^budget exceeded: toolCalls 14\/14\b/);
  });

  it('stays the child of its parent, spends its budget and is cancelled with it', async () => {
    const parent = await spawn({ task: looking(900, 'never'), budgetToolCalls: 2_000 });
    const child = await spawn({ task: looking(16, 'found below'), parent: parent.handle });
    expect(await awaited(child.handle)).toMatchObject({ status: 'Completed', result: 'found below' });
    expect(await executionOf(child.handle)).not.toBe(child.first);
    const other = await spawn({ task: looking(900, 'never'), parent: parent.handle });
    await switched(other);
    await switched(parent);
    await client.call('cancel', { handle: parent.handle, reason: 'all of it' });
    for (const { handle } of [parent, other]) {
      expect(await awaited(handle)).toMatchObject({ status: 'Cancelled' });
    }
    const { structured } = await client.call('status', { handle: child.handle });
    expect(structured).toMatchObject({ status: 'Completed', parent: parent.handle });
  });
});
