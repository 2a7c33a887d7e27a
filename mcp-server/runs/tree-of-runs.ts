/**
 * The whole tree that a run belongs to, with what each run and all below it have done together. Totals
 * count what the asker may not see; the runs themselves are told only to who may see them.
 */
import type { Handle } from '../../contracts/ids.ts';
import { isFinal, maxTreeRuns, zeroCounters } from '../../contracts/run.ts';
import { maySee, type Asker } from './asker.ts';
import { addCounters, listTree, refreshed, subtreeOf, type RunFamily } from './run-family.ts';
import type { RunReader } from './run-reader.ts';
import type { RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';

export interface TreeNode {
  readonly run: RunView;
  /** 1: the root. */
  readonly depth: number;
  /** Of the run and all below it. */
  readonly subtree: RunFamily['subtree'];
}

export interface RunTree {
  readonly root: Handle;
  /** A parent stands before its children, and those in the order of their start. */
  readonly nodes: readonly TreeNode[];
}

/** @param run any run of the tree; it is there even when Temporal's list does not show it yet. */
export async function treeOfRuns(
  deps: { readonly temporal: TemporalLink; readonly reader: RunReader },
  run: RunView,
  asker: Asker,
): Promise<RunTree> {
  const listed = (await listTree(deps.temporal, run.root)).slice(0, maxTreeRuns);
  const others = listed.filter(({ handle }) => handle !== run.handle);
  const runs = [...(await refreshed(deps.reader, others)), run];
  return { root: run.root, nodes: nodesOf(runs, run.root).filter((node) => maySee(asker, node.run.caller)) };
}

/** Pure. A run whose parent is not there stands where its parent would, below the root. */
export function nodesOf(runs: readonly RunView[], root: Handle): TreeNode[] {
  const known = new Set(runs.map(({ handle }) => handle));
  const joined = runs
    .toSorted((one, other) => Date.parse(other.startedAt) - Date.parse(one.startedAt))
    .map((run) =>
      run.handle === root || (run.parent !== null && known.has(run.parent)) ? run : { ...run, parent: root },
    );
  const byHandle = new Map(runs.map((run) => [run.handle, run]));
  const top = byHandle.get(root);
  const order = [...(top === undefined ? [] : [top]), ...subtreeOf(joined, root)];
  const parents = new Map(joined.map(({ handle, parent }) => [handle, handle === root ? null : parent]));
  const totals = new Map<Handle, RunFamily['subtree']>();
  for (const run of order.toReversed()) {
    const total = addTotals(totals.get(run.handle) ?? noTotals, totalsOf(run));
    totals.set(run.handle, total);
    const parent = parents.get(run.handle) ?? null;
    if (parent !== null) totals.set(parent, addTotals(totals.get(parent) ?? noTotals, total));
  }
  const depths = new Map<Handle, number>();
  return order
    .map(({ handle }) => {
      const parent = parents.get(handle) ?? null;
      const depth = parent === null ? 1 : (depths.get(parent) ?? 1) + 1;
      depths.set(handle, depth);
      const run = byHandle.get(handle);
      return run === undefined ? [] : [{ run, depth, subtree: totals.get(handle) ?? noTotals }];
    })
    .flat();
}

const noTotals: RunFamily['subtree'] = { runs: 0, atWork: 0, counters: zeroCounters };

function totalsOf({ status, counters }: RunView): RunFamily['subtree'] {
  return { runs: 1, atWork: isFinal(status) ? 0 : 1, counters };
}

function addTotals(one: RunFamily['subtree'], other: RunFamily['subtree']): RunFamily['subtree'] {
  return {
    runs: one.runs + other.runs,
    atWork: one.atWork + other.atWork,
    counters: addCounters(one.counters, other.counters),
  };
}
