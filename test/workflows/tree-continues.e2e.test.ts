/**
 * Trees and runs that go on in several workflow executions, and trees that have ended and are begun again.
 * Their Temporal server asks for a new execution every forty events, as a real one does every four thousand.
 */
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Handle } from '../../contracts/ids.ts';
import { runMemoKey, runMemoSchema } from '../../contracts/run.ts';
import { TemporalLink } from '../../mcp-server/runs/temporal-link.ts';
import { TreeClient } from '../../mcp-server/runs/tree-client.ts';
import { runInputSchema } from '../../contracts/run.ts';
import { chunk } from '../activities/fake-model.ts';
import type { OwnTemporal } from '../own-temporal.ts';
import { startShortHistoryServer } from '../short-history-server.ts';
import { newHandle, startRunStack, type RunStack } from './run-stack.ts';
import { openTree, type TestTree } from './tree-stack.ts';

let server: OwnTemporal;
let stack: RunStack;
beforeAll(async () => {
  server = await startShortHistoryServer();
  stack = await startRunStack({
    temporalAddress: server.address,
    workflowBundlePath: inject('workflowBundlePath'),
    script(request) {
      const text = JSON.stringify(request.body.messages[0]);
      if (text.includes('answer')) request.say('done');
      else if (text.includes('notes'))
        request.call([{ name: 'kit__add_note', arguments: { text: 'a note' } }]);
      else request.write(chunk({ content: 'I beg' }));
    },
  });
});
afterAll(async () => {
  await stack?.close();
  await server?.close();
});

const endless = { task: 'go on', tools: [] };
const quick = { task: 'answer', tools: [] };
const waiting = { timeout: 60_000, interval: 100 };

const describeRun = async (handle: string) => await stack.client.workflow.getHandle(handle).describe();
const statusOf = async (handle: string): Promise<string> => (await describeRun(handle)).status.name;
const executionOf = async (id: string): Promise<string> => (await describeRun(id)).runId;
async function settled(handle: string): Promise<void> {
  await stack.client.workflow
    .getHandle(handle)
    .result()
    .catch(() => undefined);
}

async function spawned(tree: TestTree, parent: string, input: Record<string, unknown> = endless) {
  const [one] = await tree.spawnAll([{ parent, input }]);
  expect(one?.answer).toEqual({ kind: 'started' });
  return one?.handle ?? '';
}

async function rooted(over: Record<string, unknown> = {}): Promise<{ root: string; tree: TestTree }> {
  const { workflowId: root } = await stack.start(endless);
  return { root, tree: openTree(stack.client, stack.taskQueue, root, over) };
}

/** Starts quick runs until the tree goes on in another execution. */
async function untilContinued(tree: TestTree, root: string): Promise<void> {
  const before = await executionOf(tree.id);
  for (let tries = 0; tries < 20; tries += 1) {
    await settled(await spawned(tree, root, quick));
    if ((await executionOf(tree.id)) !== before) return;
  }
  throw new Error('the tree goes on in its first execution');
}

describe('a tree that continues as new', () => {
  it('keeps its runs: it cancels those of an earlier execution, with their reason, and refuses late ones', async () => {
    const { root, tree } = await rooted();
    const old = await spawned(tree, root);
    const below = await spawned(tree, old);
    const beside = await spawned(tree, root);
    await untilContinued(tree, root);
    const young = await spawned(tree, below);
    expect(await tree.cancel(old, 'a dead end')).toEqual({ known: true, reached: 3 });
    await Promise.all([old, below, young].map(settled));
    const memo = (await describeRun(below)).memo?.[runMemoKey];
    expect(runMemoSchema.parse(memo).reason).toBe(`cancelled with its parent ${old}: a dead end`);
    expect(await statusOf(young)).toBe('CANCELLED');
    expect(await statusOf(beside)).toBe('RUNNING');
    const [late] = await tree.spawnAll([{ parent: below, input: quick }]);
    expect(late?.answer).toMatchObject({ kind: 'refused', why: 'cancelled' });
    await tree.cancel(root);
    await Promise.all([root, beside].map(settled));
  });

  it('finds the end of a run of an earlier execution, and then its place is free', async () => {
    const { root, tree } = await rooted();
    const old = await spawned(tree, root);
    await untilContinued(tree, root);
    await stack.client.workflow.getHandle(old).terminate('killed');
    const wish = { parent: root, input: quick, maxRunning: 2 };
    // The root counts too, and the killed one does not any more.
    const [one] = await tree.spawnAll([wish]);
    expect(one?.answer).toEqual({ kind: 'started' });
    await vi.waitFor(async () => {
      expect((await tree.state()).runs[old as Handle]).toMatchObject({ state: 'ended', status: 'Failed' });
    }, waiting);
    await tree.cancel(root);
  });
});

describe('a run of a tree that has continued as new', () => {
  it('is reached by the cancel of its parent', async () => {
    const { root, tree } = await rooted();
    const parent = await spawned(tree, root);
    const long = await spawned(tree, parent, { task: 'notes', maxToolCalls: 10_000 });
    const first = await executionOf(long);
    await vi.waitFor(async () => expect(await executionOf(long)).not.toBe(first), waiting);
    await tree.cancel(parent);
    await settled(long);
    expect(await statusOf(long)).toBe('CANCELLED');
    await tree.cancel(root);
  });
});

describe('a tree with nothing at work', () => {
  const idleMs = 1_500;
  it('ends with what it knew, and is one tree again for two who need it at once', async () => {
    const { workflowId: root } = await stack.start(quick);
    await settled(root);
    const tree = openTree(stack.client, stack.taskQueue, root, { idleMs });
    const first = await spawned(tree, root, quick);
    await tree.cancel(first);
    await vi.waitFor(async () => expect(await statusOf(tree.id)).toBe('COMPLETED'), waiting);

    const settings = { address: server.address, namespace: 'default' };
    const links = [new TemporalLink(settings), new TemporalLink(settings)];
    const clients = links.map(
      (link) => new TreeClient(link, { taskQueue: stack.taskQueue, idleMs: 60_000, limitMs: 60_000 }),
    );
    const wish = (parent: string) => ({
      handle: newHandle() as Handle,
      parent: parent as Handle,
      requestHash: 'x',
      maxRunning: 100,
      input: runInputSchema.parse({ caller: 'tests', ...quick }),
    });
    const wishes = clients.map(() => wish(root));
    const answers = await Promise.all(
      clients.map(async (client, index) => await client.spawn(root as Handle, wishes[index] ?? wish(root))),
    );
    expect(answers).toEqual([{ kind: 'started' }, { kind: 'started' }]);
    const { runs } = await tree.state();
    expect(Object.keys(runs)).toEqual(
      expect.arrayContaining([root, first, ...wishes.map(({ handle }) => handle)]),
    );
    expect(await clients[0]?.spawn(root as Handle, wish(first))).toMatchObject({ why: 'cancelled' });
    await Promise.all(links.map(async (link) => await link.close()));
  });
});
