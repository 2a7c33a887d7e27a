/** Trees of runs as clients see them, and two servers that spawn and cancel at the same time. */
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
  await client?.close();
  await stack?.close();
});

const waiting = { timeout: 60_000, interval: 200 };

async function spawn(task: string, parent?: string, from = client): Promise<string> {
  const reply = await from.call('spawn', { task, ...(parent === undefined ? {} : { parent }) });
  expect(reply.text).toContain('started');
  return String(reply.structured['handle']);
}

async function spawnAndEnd(task: string, parent?: string): Promise<string> {
  const handle = await spawn(task, parent);
  await client.call('await', { handles: [handle], timeoutSeconds: 60 });
  return handle;
}

const statusOf = async (handle: string): Promise<unknown> =>
  (await client.call('status', { handle })).structured['status'];

describe('a run with a parent', () => {
  it('may be spawned under a run that has finished, and status tells of parent, children and totals', async () => {
    const root = await spawnAndEnd(stack.lookingUp('up'));
    const child = await spawnAndEnd(stack.lookingUp('down'), root);
    await spawnAndEnd(stack.saying('deep'), child);
    await vi.waitFor(async () => {
      const { structured, text } = await client.call('status', { handle: root });
      expect(structured).toMatchObject({
        parent: null,
        children: [{ handle: child, status: 'Completed' }],
        subtree: { runs: 3, atWork: 0, turns: 5, toolCalls: 2, failedToolCalls: 0 },
      });
      expect(text).toContain(`${child}: Completed`);
    }, waiting);
    const { structured } = await client.call('status', { handle: child });
    expect(structured).toMatchObject({ parent: root, root, subtree: { runs: 2, turns: 3 } });
  });

  it('is refused in words under a run that is not known, and at depth nine', async () => {
    const unknown = await client.call('spawn', { task: 'x', parent: 'run_0000000000000000000000' });
    expect(unknown).toMatchObject({ isError: true, text: expect.stringContaining('unknown handle') });
    let parent = await spawn(stack.saying('1'));
    for (let depth = 2; depth <= 8; depth += 1) parent = await spawn(stack.saying(String(depth)), parent);
    const ninth = await client.call('spawn', { task: stack.saying('9'), parent });
    expect(ninth).toMatchObject({ isError: true, text: expect.stringContaining('at most 8 runs deep') });
  });

  it('is refused under a cancelled run, also when that had finished before', async () => {
    const root = await spawnAndEnd(stack.saying('done'));
    const { structured } = await client.call('cancel', { handle: root, reason: 'shut' });
    expect(structured).toMatchObject({ reached: 0, status: 'Completed' });
    const late = await client.call('spawn', { task: stack.saying('late'), parent: root });
    expect(late).toMatchObject({ isError: true, text: expect.stringContaining('was cancelled (shut)') });
  });
});

describe('spawns and a cancel at the same time, by two servers', () => {
  it('leave no run at work under the cancel, whatever the order, and no later spawn is taken', async () => {
    const server = await stack.startServer();
    const other = await connectClient('modern', `${server.url}/mcp`);
    for (const inner of [false, true]) {
      const root = await spawn(stack.holding('never').task);
      // Its first child and the cancel of its root may come in any order.
      const top = inner ? await spawn(stack.holding('never').task, root) : root;
      const spawns = Array.from({ length: 12 }, async (_, index) => {
        const from = index % 2 === 0 ? client : other;
        return await from.call('spawn', { task: stack.holding('never').task, parent: top });
      });
      const cancel = other.call('cancel', { handle: top, reason: 'enough' });
      const replies = await Promise.all(spawns);
      await cancel;
      const started = replies.filter(({ isError }) => !isError).map((reply) => reply.structured['handle']);
      for (const reply of replies.filter(({ isError }) => isError)) expect(reply.text).toContain('cancelled');
      const handles = [top, ...started];
      const { structured } = await client.call('await', { handles, timeoutSeconds: 60 });
      expect(structured).toMatchObject({
        done: true,
        runs: handles.map((handle) => ({ handle, status: 'Cancelled' })),
      });
      const late = await client.call('spawn', { task: stack.saying('late'), parent: top });
      expect(late).toMatchObject({ isError: true, text: expect.stringContaining('was cancelled (enough)') });
      await client.call('cancel', { handle: root });
    }
    await other.close();
  });
});

describe('the limit of runs at work', () => {
  it('refuses roots and children over it in words, and has room again when a run has ended or was killed', async () => {
    const server = await stack.startServer({ maxRunning: 3 });
    const few = await connectClient('modern', `${server.url}/mcp`, 'few-runs');
    const held = Array.from({ length: 3 }, () => stack.holding('later'));
    const handles: string[] = [];
    for (const { task } of held.slice(0, 2)) handles.push(await spawn(task, undefined, few));
    handles.push(await spawn(held[2]?.task ?? '', handles[0], few));
    for (const parent of [undefined, handles[0]]) {
      const over = await few.call('spawn', {
        task: stack.saying('over'),
        ...(parent === undefined ? {} : { parent }),
      });
      expect(over).toMatchObject({ isError: true, text: expect.stringContaining('you have 3 runs at work') });
    }
    await stack.temporal.workflow.getHandle(handles[1] ?? '').terminate('killed');
    handles.push(await spawn(stack.holding('later').task, handles[0], few));
    expect(await few.call('spawn', { task: stack.saying('over') })).toMatchObject({ isError: true });
    held[0]?.release();
    await few.call('await', { handles: [handles[0]], timeoutSeconds: 60 });
    handles.push(await spawn(stack.holding('later').task, undefined, few));
    for (const handle of handles) await few.call('cancel', { handle });
    await few.close();
  });

  it('takes as many of a fan-out as there are places', async () => {
    const server = await stack.startServer({ maxRunning: 4 });
    const few = await connectClient('modern', `${server.url}/mcp`, 'fan-out');
    const tasks = Array.from({ length: 10 }, () => stack.holding('later').task);
    const replies = await Promise.all(tasks.map(async (task) => await few.call('spawn', { task })));
    expect(replies.filter(({ isError }) => !isError)).toHaveLength(4);
    for (const { structured } of replies.filter(({ isError }) => !isError)) {
      await few.call('cancel', { handle: structured['handle'] });
    }
    await few.close();
  });
});

describe('an inner run', () => {
  it('that is cancelled ends with its subtree; the rest goes on to its answer', async () => {
    const root = stack.holding('the root');
    const rootHandle = await spawn(root.task);
    const inner = await spawn(stack.holding('never').task, rootHandle);
    const below = await spawn(stack.holding('never').task, inner);
    const beside = stack.holding('beside');
    const besideHandle = await spawn(beside.task, rootHandle);
    await Promise.all([root.held, beside.held]);
    expect((await client.call('cancel', { handle: inner, reason: 'a dead end' })).structured).toMatchObject({
      reached: 2,
    });
    const { structured } = await client.call('await', { handles: [inner, below], timeoutSeconds: 60 });
    expect(structured).toMatchObject({
      runs: [
        { status: 'Cancelled', reason: 'a dead end' },
        { status: 'Cancelled', reason: `cancelled with its parent ${inner}: a dead end` },
      ],
    });
    expect(await statusOf(besideHandle)).toBe('Running');
    root.release();
    beside.release();
    const rest = await client.call('await', { handles: [rootHandle, besideHandle], timeoutSeconds: 60 });
    expect(rest.structured).toMatchObject({ runs: [{ result: 'the root' }, { result: 'beside' }] });
  });
});
