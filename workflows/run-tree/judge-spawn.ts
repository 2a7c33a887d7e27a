/** Whether a run may be started under a run of the tree, and in which words it is refused. Pure. */
import { callerFullText, maxTreeDepth, maxTreeRuns } from '../../contracts/run-names.ts';
import type { SpawnChild, SpawnRefusal, TreeRun, TreeState } from '../../contracts/run-tree.ts';
import { atWorkOf, closedAt, runOf } from './tree-state.ts';

export type Judgement =
  | { readonly kind: 'start'; readonly run: TreeRun }
  | { readonly kind: 'existing' }
  | { readonly kind: 'refused'; readonly why: SpawnRefusal; readonly message: string };

export function judgeSpawn(tree: TreeState, request: SpawnChild): Judgement {
  const { handle, parent: parentHandle, requestHash, input, maxRunning } = request;
  const before = runOf(tree, handle);
  if (before !== null) {
    if (before.requestHash === requestHash) return { kind: 'existing' };
    return refuse('conflict', `${handle} was started before with other arguments`);
  }
  const parent = runOf(tree, parentHandle);
  if (parent === null) {
    return refuse('unknown-parent', `${parentHandle} is not known in the tree of ${tree.root}`);
  }
  const closed = closedAt(tree, parentHandle);
  if (closed !== null) return refuseClosed(parentHandle, closed);
  if (parent.depth >= maxTreeDepth) {
    return refuse(
      'too-deep',
      `${parentHandle} is at depth ${parent.depth}, and a tree is at most ${maxTreeDepth} runs deep; spawn under a run further up`,
    );
  }
  if (Object.keys(tree.runs).length >= maxTreeRuns) {
    return refuse(
      'tree-full',
      `the tree of ${tree.root} has ${maxTreeRuns} runs, the most a tree can have; spawn without a parent to begin a new one`,
    );
  }
  if (atWorkOf(tree, input.caller) >= maxRunning) return refuse('caller-full', callerFullText(maxRunning));
  return { kind: 'start', run: newRun(request, parent.depth + 1) };
}

function refuse(why: SpawnRefusal, message: string): Judgement {
  return { kind: 'refused', why, message };
}

function refuseClosed(parent: string, { at, closed }: NonNullable<ReturnType<typeof closedAt>>): Judgement {
  const advice = 'spawn without a parent, or under a run that goes on';
  if (closed.kind === 'budget') {
    const whose = at === parent ? `of ${parent}` : `of ${at}, above ${parent},`;
    return refuse(
      'budget',
      `the budget ${whose} is used up (${closed.reason}): nothing can be started under it; ${advice}`,
    );
  }
  const how = at === parent ? 'was cancelled' : `was cancelled with ${at}`;
  return refuse(
    'cancelled',
    `${parent} ${how} (${closed.reason}): nothing can be started under it; ${advice}`,
  );
}

function newRun({ parent, input, requestHash }: SpawnChild, depth: number): TreeRun {
  return {
    parent,
    depth,
    caller: input.caller,
    requestHash,
    state: 'starting',
    status: null,
    counters: null,
    closed: null,
  };
}
