/**
 * A tree of runs as one plain value, and the questions it answers: who is below whom, who is at work,
 * what is closed by which cancel. Pure. What happens to it is in `tree-step.ts`.
 */
import type { Handle } from '../../contracts/ids.ts';
import type { Closed, TreeRun, TreeState } from '../../contracts/run-tree.ts';
import { noTreeBudgets } from '../budget/tree-state.ts';

/** A tree that knows of its root only. */
export function newTree(root: Handle): TreeState {
  const run: TreeRun = {
    parent: null,
    depth: 1,
    caller: null,
    requestHash: '',
    state: 'running',
    status: null,
    counters: null,
    closed: null,
  };
  return { root, runs: { [root]: run }, budgets: noTreeBudgets };
}

export function runOf(tree: TreeState, handle: Handle): TreeRun | null {
  return Object.hasOwn(tree.runs, handle) ? (tree.runs[handle] ?? null) : null;
}

export function entriesOf(tree: TreeState): readonly (readonly [Handle, TreeRun])[] {
  return Object.entries(tree.runs).map(([handle, run]) => [handle as Handle, run]);
}

/** The tree with `run` under its handle, be it new or changed. */
export function withRun(tree: TreeState, handle: Handle, run: TreeRun): TreeState {
  return { ...tree, runs: { ...tree.runs, [handle]: run } };
}

export function withoutRun(tree: TreeState, handle: Handle): TreeState {
  const { [handle]: _, ...runs } = tree.runs;
  return { ...tree, runs };
}

export function isAtWork(run: TreeRun): boolean {
  return run.state !== 'ended';
}

/** The run and all above it, from the run up to the root. */
export function pathToRoot(tree: TreeState, handle: Handle): readonly Handle[] {
  const path: Handle[] = [];
  for (let at: Handle | null = handle; at !== null; at = runOf(tree, at)?.parent ?? null) path.push(at);
  return path;
}

/** The run and all below it, each after the one above it. */
export function subtreeOf(tree: TreeState, handle: Handle): readonly Handle[] {
  const children = new Map<Handle, Handle[]>();
  for (const [child, { parent }] of entriesOf(tree)) {
    if (parent === null) continue;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [child]);
    else siblings.push(child);
  }
  const found = runOf(tree, handle) === null ? [] : [handle];
  for (let index = 0; index < found.length; index += 1) {
    const at = found[index];
    if (at !== undefined) found.push(...(children.get(at) ?? []));
  }
  return found;
}

/** The nearest run, itself or above it, that was ended on purpose; null: none was. */
export function closedAt(
  tree: TreeState,
  handle: Handle,
): { readonly at: Handle; readonly closed: Closed } | null {
  for (const at of pathToRoot(tree, handle)) {
    const closed = runOf(tree, at)?.closed ?? null;
    if (closed !== null) return { at, closed };
  }
  return null;
}

/** Runs of the caller at work in this tree. */
export function atWorkOf(tree: TreeState, caller: string): number {
  return Object.values(tree.runs).filter((run) => isAtWork(run) && run.caller === caller).length;
}
