import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Handle } from '../../contracts/ids.ts';
import { runMemoKey, runMemoSchema } from '../../contracts/run.ts';
import { chunk } from '../activities/fake-model.ts';
import { startRunStack, type RunStack } from './run-stack.ts';
import { openTree, type TestTree } from './tree-stack.ts';

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
    expect((await tree.state()).runs[grandchild as Handle]).toMatchObject({
      status: 'Completed',
      depth: 3,
      counters: { turns: 1 },
    });
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
});
