/**
 * What becomes of a tree when something happens in it: its state and an event in, the new state and what
 * is to be done out. Pure; `children.ts` does it. Whether a run may be added is in `judge-spawn.ts`.
 */
import type { Handle } from '../../contracts/ids.ts';
import { zeroCounters } from '../../contracts/run-names.ts';
import type { RunCounters, RunStatus } from '../../contracts/run.ts';
import type { Closed, TreeRun, TreeState } from '../../contracts/run-tree.ts';
import { closedAt, entriesOf, isAtWork, runOf, subtreeOf, withoutRun, withRun } from './tree-state.ts';

export type TreeEvent =
  /** It was judged and is about to be started. */
  | { readonly kind: 'run-added'; readonly handle: Handle; readonly run: TreeRun }
  | { readonly kind: 'run-started'; readonly handle: Handle }
  /** Temporal did not start it; it never was. */
  | { readonly kind: 'start-failed'; readonly handle: Handle }
  | {
      readonly kind: 'run-ended';
      readonly handle: Handle;
      readonly status: RunStatus;
      /** null: not known yet; told later by `counters-known`. */
      readonly counters: RunCounters | null;
    }
  | { readonly kind: 'counters-known'; readonly handle: Handle; readonly counters: RunCounters }
  /** What was looked up of the root. */
  | {
      readonly kind: 'caller-known';
      readonly handle: Handle;
      readonly caller: NonNullable<TreeRun['caller']>;
    }
  /** The run and everything below it is to end, and nothing may be started there any more. */
  | { readonly kind: 'close'; readonly handle: Handle; readonly closed: Closed };

/** A run that is at work and must end. */
export interface RunToEnd {
  readonly handle: Handle;
  /** As it is shown with the run. */
  readonly reason: string;
}

export type TreeEffect = {
  readonly kind: 'end-subtree';
  readonly top: Handle;
  /** All that are at work, `top` among them if it is. */
  readonly runs: readonly RunToEnd[];
};

export interface TreeStep {
  readonly tree: TreeState;
  readonly effects: readonly TreeEffect[];
}

/** Events of runs that the tree does not know change nothing. */
export function stepTree(tree: TreeState, event: TreeEvent): TreeStep {
  if (event.kind === 'run-added') return unmoved(withRun(tree, event.handle, event.run));
  const run = runOf(tree, event.handle);
  if (run === null) return unmoved(tree);
  switch (event.kind) {
    case 'run-started':
      if (run.state !== 'starting') return unmoved(tree);
      return unmoved(withRun(tree, event.handle, { ...run, state: 'running' }));
    case 'start-failed':
      return unmoved(forgetRun(tree, event.handle, run));
    case 'counters-known':
      return unmoved(withRun(tree, event.handle, { ...run, counters: event.counters }));
    case 'caller-known':
      return unmoved(withRun(tree, event.handle, { ...run, caller: event.caller }));
    case 'run-ended':
      return endRun(tree, run, event);
    case 'close':
      return closeRun(tree, run, event);
  }
}

function unmoved(tree: TreeState): TreeStep {
  return { tree, effects: [] };
}

/** What is below it already, as by a guessed handle, keeps its place in the tree. */
function forgetRun(tree: TreeState, handle: Handle, run: TreeRun): TreeState {
  if (subtreeOf(tree, handle).length === 1) return withoutRun(tree, handle);
  return withRun(tree, handle, { ...run, state: 'ended', status: 'Failed', counters: zeroCounters });
}

/** A run that somebody cancelled behind the tree's back takes what is below it along. */
function endRun(tree: TreeState, run: TreeRun, event: Extract<TreeEvent, { kind: 'run-ended' }>): TreeStep {
  const { handle, status } = event;
  if (run.state === 'ended') return unmoved(tree);
  const counters = event.counters ?? run.counters;
  const ended = withRun(tree, handle, { ...run, state: 'ended', status, counters });
  if (status !== 'Cancelled' || closedAt(ended, handle) !== null) return unmoved(ended);
  return stepTree(ended, {
    kind: 'close',
    handle,
    closed: { kind: 'cancel', reason: 'it was cancelled by itself' },
  });
}

/** The first reason stays; a second cancel asks those again that are still at work. */
function closeRun(
  tree: TreeState,
  run: TreeRun,
  { handle, closed }: Extract<TreeEvent, { kind: 'close' }>,
): TreeStep {
  const runs = subtreeOf(tree, handle)
    .filter((below) => isAtWork(runOf(tree, below) ?? run))
    .map((below): RunToEnd => ({ handle: below, reason: reasonFor(tree, handle, below, closed) }));
  return {
    tree: run.closed === null ? withRun(tree, handle, { ...run, closed }) : tree,
    effects: [{ kind: 'end-subtree', top: handle, runs }],
  };
}

/** Runs at work that are to end: what an execution before this one asked may not have reached them. */
export function runsToEnd(tree: TreeState): readonly RunToEnd[] {
  return entriesOf(tree).flatMap(([handle, run]) => {
    const cause = isAtWork(run) ? closedAt(tree, handle) : null;
    return cause === null ? [] : [{ handle, reason: reasonFor(tree, cause.at, handle, cause.closed) }];
  });
}

function reasonFor(tree: TreeState, top: Handle, handle: Handle, { reason }: Closed): string {
  if (handle === top) return reason;
  const relation = runOf(tree, handle)?.parent === top ? 'parent' : 'ancestor';
  return `cancelled with its ${relation} ${top}: ${reason}`;
}
