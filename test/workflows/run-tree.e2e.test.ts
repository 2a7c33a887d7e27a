import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { Handle } from '../../contracts/ids.ts';
import { runMemoKey, runMemoSchema } from '../../contracts/run.ts';
import { chunk } from '../activities/fake-model.ts';
import { startRunStack, type RunStack } from './run-stack.ts';
import { openTree, type TestTree } from './tree-stack.ts';
import { startWorkerProcess } from './worker-process.ts';

let stack: RunStack;
beforeAll(async () => {
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    // Says nothing to the end unless it is asked to.
    script: (request) =>
      JSON.stringify(request.body).includes('answer')
        ? request.say('done')
        : request.write(chunk({ content: 'I beg' })),
  });
});
afterAll(async () => await stack?.close());

const endless = { task: 'go on', tools: [] };
const quick = { task: 'answer', tools: [] };
const memoOf = async (handle: string) =>
  runMemoSchema.parse((await stack.client.workflow.getHandle(handle).describe()).memo?.[runMemoKey]);
const statusOf = async (handle: string): Promise<string> =>
  (await stack.client.workflow.getHandle(handle).describe()).status.name;
const ended = async (handle: string): Promise<unknown> =>
  await stack.client.workflow
    .getHandle(handle)
    .result()
    .catch((error: unknown) => error);

async function rooted(input: Record<string, unknown> = endless): Promise<{ root: string; tree: TestTree }> {
  const { workflowId: root } = await stack.start(input);
  return { root, tree: openTree(stack.client, stack.taskQueue, root) };
}

async function spawnOne(tree: TestTree, parent: string, input: Record<string, unknown> = endless) {
  const [one] = await tree.spawnAll([{ parent, input }]);
  if (one === undefined) throw new Error('no answer');
  expect(one.answer).toEqual({ kind: 'started' });
  return one.handle;
}

describe('a tree of runs', () => {
  it('starts a child that knows its root and its parent, and notes its end', async () => {
    const { root, tree } = await rooted();
    const child = await spawnOne(tree, root);
    const grandchild = await spawnOne(tree, child, quick);
    expect(await memoOf(grandchild)).toMatchObject({ root, parent: child });
    await ended(grandchild);
    await vi.waitFor(
      async () => {
        expect((await tree.state()).runs[grandchild as Handle]).toMatchObject({
          status: 'Completed',
          depth: 3,
          counters: { turns: 1 },
        });
      },
      { timeout: 30_000, interval: 100 },
    );
    await tree.cancel(root);
  });

  it('cancels an inner run with all that is below it and nothing else, and tells each why', async () => {
    const { root, tree } = await rooted();
    const inner = await spawnOne(tree, root);
    const beside = await spawnOne(tree, root);
    const below = await spawnOne(tree, inner);
    const deep = await spawnOne(tree, below);
    expect(await tree.cancel(inner, 'wrong way')).toEqual({ known: true, reached: 3 });
    await Promise.all([inner, below, deep].map(ended));
    expect(await memoOf(inner)).toMatchObject({ status: 'Cancelled', reason: 'wrong way' });
    expect(await memoOf(below)).toMatchObject({ reason: `cancelled with its parent ${inner}: wrong way` });
    expect(await memoOf(deep)).toMatchObject({ reason: `cancelled with its ancestor ${inner}: wrong way` });
    expect(await statusOf(beside)).toBe('RUNNING');
    expect(await statusOf(root)).toBe('RUNNING');
    const [late] = await tree.spawnAll([{ parent: below, input: quick }]);
    expect(late?.answer).toMatchObject({ kind: 'refused', why: 'cancelled' });
    expect(await tree.cancel(root)).toEqual({ known: true, reached: 1 });
    await Promise.all([root, beside].map(ended));
    expect(await statusOf(root)).toBe('CANCELLED');
    expect(await statusOf(beside)).toBe('CANCELLED');
  });

  it('is kept when the worker is killed in the middle: another one starts, cancels and refuses as before', async () => {
    const lone = await startRunStack({
      temporalAddress: inject('temporalAddress'),
      workflowBundlePath: inject('workflowBundlePath'),
      script: (request) => request.write(chunk({ content: 'I beg' })),
      startWorker: false,
    });
    try {
      const doomed = await startWorkerProcess(lone.workerConfig);
      const { workflowId: root } = await lone.start(endless);
      const tree = openTree(lone.client, lone.taskQueue, root);
      const inner = await spawnOne(tree, root);
      const below = await spawnOne(tree, inner);
      await lone.model.waitForRequests(3);
      await doomed.kill();
      // Taken while no worker is there, and done by the next one.
      const late = tree.spawnAll([{ parent: below, input: endless }]);
      await lone.newWorker();
      const [deep] = await late;
      expect(deep?.answer).toEqual({ kind: 'started' });
      expect(await tree.cancel(inner)).toEqual({ known: true, reached: 3 });
      await Promise.all([inner, below, deep?.handle ?? ''].map(ended));
      expect(await statusOf(deep?.handle ?? '')).toBe('CANCELLED');
      const [refused] = await tree.spawnAll([{ parent: below, input: endless }]);
      expect(refused?.answer).toMatchObject({ why: 'cancelled' });
      expect(await statusOf(root)).toBe('RUNNING');
      await tree.cancel(root);
      await ended(root);
    } finally {
      await lone.close();
    }
  });

  it('shuts what is below a run that was cancelled in Temporal, and ends it', async () => {
    const { root, tree } = await rooted();
    const inner = await spawnOne(tree, root);
    const below = await spawnOne(tree, inner);
    await stack.client.workflow.getHandle(inner).cancel();
    await ended(below);
    expect(await memoOf(below)).toMatchObject({
      status: 'Cancelled',
      reason: expect.stringContaining(`cancelled with its parent ${inner}`),
    });
    const [late] = await tree.spawnAll([{ parent: below, input: quick }]);
    expect(late?.answer).toMatchObject({ why: 'cancelled' });
    await tree.cancel(root);
  });

  it('ends as a whole when its own workflow is cancelled in Temporal', async () => {
    const { root, tree } = await rooted();
    const child = await spawnOne(tree, root);
    await stack.client.workflow.getHandle(tree.id).cancel();
    await Promise.all([root, child].map(ended));
    expect(await statusOf(root)).toBe('CANCELLED');
    expect(await statusOf(child)).toBe('CANCELLED');
  });

  it('refuses a handle that a run of its own has, and starts the other runs of the same message', async () => {
    const { root, tree } = await rooted();
    const { workflowId: taken } = await stack.start(endless);
    const answers = await tree.spawnAll([
      { parent: root, input: quick },
      { parent: root, input: quick, handle: taken },
    ]);
    expect(answers.map(({ answer }) => answer)).toMatchObject([
      { kind: 'started' },
      { kind: 'refused', why: 'taken' },
    ]);
    expect(Object.keys((await tree.state()).runs)).not.toContain(taken);
    await tree.cancel(root);
    await stack.client.workflow.getHandle(taken).cancel();
  });
});
