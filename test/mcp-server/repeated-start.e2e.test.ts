/** Case D14: a client repeats a start with the same id. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { connectClient, type TestClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
let client: TestClient;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
  client = await connectClient('modern', stack.mcpUrl);
});
afterAll(async () => {
  await client.close();
  await stack.close();
});

/** Holds once Temporal's list, which lags a little, shows one execution under the handle and no second. */
async function expectOneStart(handle: unknown): Promise<void> {
  await vi.waitFor(
    async () => {
      const { count } = await stack.temporal.workflow.count(`WorkflowId = '${String(handle)}'`);
      expect(count).toBe(1);
    },
    { timeout: 20_000, interval: 100 },
  );
}

describe('a start that is repeated with the same request id', () => {
  it('is one run when both come at once', async () => {
    const request = { task: stack.saying('once'), requestId: randomUUID() };
    const other = await connectClient('modern', stack.mcpUrl);
    const answers = await Promise.all([
      client.call('spawn', request),
      other.call('spawn', request),
      client.call('spawn', request),
    ]);
    await other.close();
    expect(answers.map((answer) => answer.isError)).toEqual([false, false, false]);
    // Two clients of one name and address are one caller.
    const [handle, ...others] = new Set(answers.map((answer) => answer.structured['handle']));
    expect(others).toEqual([]);
    expect(answers.filter((answer) => answer.structured['existing'] !== true)).toHaveLength(1);
    const { structured } = await client.call('await', { handles: [handle] });
    expect(structured).toMatchObject({ runs: [{ status: 'Completed', result: 'once' }] });
    await expectOneStart(handle);
  });

  it('is the same run while it is running, marked as such', async () => {
    const held = stack.holding('slow');
    const request = { task: held.task, requestId: randomUUID() };
    const first = await client.call('spawn', request);
    const second = await client.call('spawn', request);
    expect(first.structured).not.toHaveProperty('existing');
    expect(second.structured).toEqual({
      handle: first.structured['handle'],
      status: 'Running',
      existing: true,
    });
    held.release();
    const { structured } = await client.call('await', { handles: [first.structured['handle']] });
    expect(structured).toMatchObject({ runs: [{ status: 'Completed', result: 'slow' }] });
  });

  it('is the finished run after success, marked as such', async () => {
    const request = { task: stack.saying('done'), requestId: randomUUID() };
    const first = await client.call('run', request);
    const second = await client.call('spawn', request);
    expect(second.structured).toMatchObject({ status: 'Completed', existing: true });
    expect(second.text).toContain('started this run before; it is Completed');
    const third = await client.call('run', request);
    expect(third.structured['runs']).toEqual(first.structured['runs']);
    await expectOneStart(second.structured['handle']);
  });

  it('is the failed run after a failure, marked as such: a new run takes a new id', async () => {
    const fault = { kind: 'error', status: 400 };
    const task = `x [[sim ${JSON.stringify({ calls: [], answer: 'y', fault })}]]`;
    const request = { task, requestId: randomUUID() };
    await client.call('run', request);
    const second = await client.call('spawn', request);
    expect(second.structured).toMatchObject({ status: 'Failed', existing: true });
    await expectOneStart(second.structured['handle']);
  });

  it('is the cancelled run after its end, marked as such: a new run takes a new id', async () => {
    const request = { task: stack.holding('never').task, requestId: randomUUID() };
    const { structured } = await client.call('spawn', request);
    await client.call('cancel', { handle: structured['handle'] });
    await client.call('await', { handles: [structured['handle']] });
    const second = await client.call('spawn', request);
    expect(second.structured).toEqual({ handle: structured['handle'], status: 'Cancelled', existing: true });
    await expectOneStart(structured['handle']);
  });

  it('is refused in words when it asks for something else, and the first run goes on', async () => {
    const requestId = randomUUID();
    const held = stack.holding('first');
    const { structured } = await client.call('spawn', { task: held.task, requestId });
    const other = await client.call('spawn', { task: stack.saying('other'), requestId });
    expect(other.isError).toBe(true);
    expect(other.text).toContain('with other arguments; use a new requestId');
    expect((await client.call('status', { handle: structured['handle'] })).structured).toMatchObject({
      status: 'Running',
    });
    held.release();
    const ended = await client.call('await', { handles: [structured['handle']] });
    expect(ended.structured).toMatchObject({ runs: [{ result: 'first' }] });
  });

  it('is another run when another caller takes the same id', async () => {
    const request = { task: stack.saying('mine'), requestId: randomUUID() };
    const stranger = await connectClient('modern', stack.mcpUrl, 'stranger');
    const first = await client.call('spawn', request);
    const second = await stranger.call('spawn', request);
    await stranger.close();
    expect(second.structured).not.toHaveProperty('existing');
    expect(second.structured['handle']).not.toBe(first.structured['handle']);
  });

  it('is the same run on another server and after a restart', async () => {
    const request = { task: stack.saying('kept'), requestId: randomUUID() };
    const server = await stack.startServer();
    const before = await connectClient('modern', `${server.url}/mcp`);
    const first = await before.call('spawn', request);
    await before.close();
    await server.close();
    const restarted = await stack.startServer();
    const after = await connectClient('modern', `${restarted.url}/mcp`);
    const second = await after.call('spawn', request);
    await after.close();
    expect(second.structured).toMatchObject({ handle: first.structured['handle'], existing: true });
  });
});
