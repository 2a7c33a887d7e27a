import { describe, expect, it } from 'vitest';
import type { Handle } from '../../../contracts/ids.ts';
import { maxTreeDepth, maxTreeRuns } from '../../../contracts/run-names.ts';
import { runInputSchema, zeroCounters } from '../../../contracts/run.ts';
import type { SpawnChild, TreeState } from '../../../contracts/run-tree.ts';
import { judgeSpawn } from '../../../workflows/run-tree/judge-spawn.ts';
import { stepTree, type TreeEvent } from '../../../workflows/run-tree/tree-step.ts';
import { newTree, subtreeOf } from '../../../workflows/run-tree/tree-state.ts';

const handleOf = (index: number): Handle => `run_${String(index).padStart(22, '0')}` as Handle;
const root = handleOf(0);

function wish(index: number, parent: Handle, over: Partial<SpawnChild> = {}): SpawnChild {
  const input = runInputSchema.parse({ task: 'x', caller: 'ann' });
  return { handle: handleOf(index), parent, requestHash: `hash-${index}`, maxRunning: 100, input, ...over };
}

function apply(tree: TreeState, ...events: readonly TreeEvent[]): TreeState {
  return events.reduce((at, event) => stepTree(at, event).tree, tree);
}

function started(tree: TreeState, request: SpawnChild): TreeState {
  const judgement = judgeSpawn(tree, request);
  if (judgement.kind !== 'start') throw new Error(JSON.stringify(judgement));
  const { handle } = request;
  return apply(tree, { kind: 'run-added', handle, run: judgement.run }, { kind: 'run-started', handle });
}

/** A chain of `depth` runs, the root among them; the last one is at `depth`. */
function chain(depth: number): TreeState {
  let tree = newTree(root);
  for (let index = 1; index < depth; index += 1) tree = started(tree, wish(index, handleOf(index - 1)));
  return tree;
}

const ended = (handle: Handle, status: 'Completed' | 'Failed' | 'Cancelled'): TreeEvent => ({
  kind: 'run-ended',
  handle,
  status,
  counters: zeroCounters,
});

describe('a spawn', () => {
  it('is taken under a run at work and under one that completed or failed', () => {
    const tree = chain(3);
    for (const status of ['Completed', 'Failed'] as const) {
      expect(judgeSpawn(apply(tree, ended(handleOf(2), status)), wish(9, handleOf(2)))).toMatchObject({
        kind: 'start',
        run: { parent: handleOf(2), depth: 4, state: 'starting' },
      });
    }
  });

  it('is refused under a cancelled run, below it, and with the words of the cancel', () => {
    const tree = apply(chain(4), {
      kind: 'close',
      handle: handleOf(1),
      closed: { kind: 'cancel', reason: 'wrong way' },
    });
    expect(judgeSpawn(tree, wish(9, handleOf(1)))).toMatchObject({
      why: 'cancelled',
      message: expect.stringContaining(`${handleOf(1)} was cancelled (wrong way)`),
    });
    expect(judgeSpawn(tree, wish(9, handleOf(3)))).toMatchObject({
      why: 'cancelled',
      message: expect.stringContaining(`was cancelled with ${handleOf(1)} (wrong way)`),
    });
    expect(judgeSpawn(tree, wish(9, root))).toMatchObject({ kind: 'start' });
  });

  it('is refused under a run that was cancelled behind the back of its tree', () => {
    const tree = apply(chain(3), ended(handleOf(1), 'Cancelled'));
    expect(judgeSpawn(tree, wish(9, handleOf(2)))).toMatchObject({ why: 'cancelled' });
  });

  it('is refused where the budget is used up, and says whose', () => {
    const tree = apply(chain(3), {
      kind: 'close',
      handle: handleOf(1),
      closed: { kind: 'budget', reason: 'budget exceeded: tokens 12/10' },
    });
    expect(judgeSpawn(tree, wish(9, handleOf(2)))).toMatchObject({
      why: 'budget',
      message: expect.stringContaining('budget exceeded: tokens 12/10'),
    });
  });

  it('is refused under a run that the tree does not know', () => {
    expect(judgeSpawn(newTree(root), wish(9, handleOf(5)))).toMatchObject({ why: 'unknown-parent' });
  });

  it(`is refused at depth ${maxTreeDepth + 1}`, () => {
    expect(judgeSpawn(chain(maxTreeDepth - 1), wish(90, handleOf(maxTreeDepth - 2)))).toMatchObject({
      kind: 'start',
    });
    expect(judgeSpawn(chain(maxTreeDepth), wish(90, handleOf(maxTreeDepth - 1)))).toMatchObject({
      why: 'too-deep',
      message: expect.stringContaining('at most 8 runs deep'),
    });
  });

  it(`is refused in a tree of ${maxTreeRuns} runs, ended ones among them`, () => {
    let tree = newTree(root);
    for (let index = 1; index < maxTreeRuns; index += 1) {
      tree = apply(started(tree, wish(index, root)), ended(handleOf(index), 'Completed'));
    }
    expect(judgeSpawn(tree, wish(maxTreeRuns, root))).toMatchObject({ why: 'tree-full' });
  });

  it('is refused over what its caller may have at work, until one of those runs ends', () => {
    let tree = newTree(root);
    for (const index of [1, 2, 3]) tree = started(tree, wish(index, root));
    const next = wish(4, root, { maxRunning: 3 });
    expect(judgeSpawn(tree, next)).toMatchObject({
      why: 'caller-full',
      message: expect.stringContaining('you have 3 runs at work'),
    });
    const other = runInputSchema.parse({ task: 'x', caller: 'bob' });
    expect(judgeSpawn(tree, { ...next, input: other })).toMatchObject({ kind: 'start' });
    expect(judgeSpawn(apply(tree, ended(handleOf(2), 'Failed')), next)).toMatchObject({ kind: 'start' });
  });

  it('that is repeated is the run that is there, also under a cancel; another one with its handle is refused', () => {
    const tree = apply(chain(2), {
      kind: 'close',
      handle: root,
      closed: { kind: 'cancel', reason: 'enough' },
    });
    expect(judgeSpawn(tree, wish(1, root))).toEqual({ kind: 'existing' });
    expect(judgeSpawn(tree, wish(1, root, { requestHash: 'other' }))).toMatchObject({ why: 'conflict' });
  });
});

describe('a cancel', () => {
  it('tells each run below why, by its nearest relation, and leaves the rest alone', () => {
    let tree = chain(3);
    tree = started(tree, wish(10, root));
    tree = apply(started(tree, wish(11, handleOf(2))), ended(handleOf(2), 'Completed'));
    const { effects } = stepTree(tree, {
      kind: 'close',
      handle: handleOf(1),
      closed: { kind: 'cancel', reason: 'wrong way' },
    });
    expect(effects).toEqual([
      {
        kind: 'end-subtree',
        top: handleOf(1),
        runs: [
          { handle: handleOf(1), reason: 'wrong way' },
          { handle: handleOf(11), reason: `cancelled with its ancestor ${handleOf(1)}: wrong way` },
        ],
      },
    ]);
    expect(subtreeOf(tree, handleOf(1))).not.toContain(handleOf(10));
  });

  it('keeps its first reason when it comes twice, and asks those again that are still at work', () => {
    const closing = (reason: string): TreeEvent => ({
      kind: 'close',
      handle: handleOf(1),
      closed: { kind: 'cancel', reason },
    });
    const once = apply(chain(2), closing('first'));
    const twice = stepTree(once, closing('second'));
    expect(twice.tree.runs[handleOf(1)]?.closed?.reason).toBe('first');
    expect(twice.effects[0]?.runs).toHaveLength(1);
  });
});
