/**
 * The Temporal side of a tree: starts its runs as child workflows inside cancellation scopes that are
 * nested like the runs, ends subtrees through those scopes, and notes how runs end. It decides nothing.
 *
 * A run that an earlier execution of this workflow started, and the root, are not children of this
 * execution: they are cancelled by id, and `run-ends.ts` looks for their end.
 */
import {
  CancellationScope,
  CancelledFailure,
  ChildWorkflowFailure,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  startChild,
  type ChildWorkflowHandle,
  type Workflow,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { Handle } from '../../contracts/ids.ts';
import { requestMemoKey, runMemoKey, searchAttributes, workflowTypes } from '../../contracts/run-names.ts';
import type { RunCounters, RunInput, RunResult, RunStatus, Spent } from '../../contracts/run.ts';
import type { Closed, RunTreeInput, SpawnAnswer, SpawnChild, TreeState } from '../../contracts/run-tree.ts';
import { memoOf, startRun } from '../run-state.ts';
import { nameCancelReason } from '../send-cancel-reason.ts';
import { BudgetKeeper } from './budget-keeper.ts';
import { judgeSpawn } from './judge-spawn.ts';
import { entriesOf, isAtWork, newTree, runOf } from './tree-state.ts';
import { runsToEnd, stepTree, type RunToEnd, type TreeEffect, type TreeEvent } from './tree-step.ts';

/** Milliseconds after which runs that have not ended are asked to once more, from one time to the next. */
const secondRequestsMs = [1_000, 5_000, 30_000];

export class TreeChildren {
  readonly budgets: BudgetKeeper;
  #tree: TreeState;
  readonly #scopes = new Map<Handle, CancellationScope>();
  readonly #starts = new Map<Handle, Promise<SpawnAnswer>>();
  /** Children of this execution: Temporal tells it how they end. */
  readonly #own = new Set<Handle>();

  /**
   * Made inside a scope that nothing cancels.
   * @param lookForEnds called when a run that should be at work cannot be reached.
   */
  constructor(input: RunTreeInput, lookForEnds: () => void) {
    this.#tree = input.state ?? newTree(input.root);
    this.budgets = new BudgetKeeper({
      root: input.root,
      read: () => this.#tree.budgets,
      write: (budgets) => {
        this.#tree = { ...this.#tree, budgets };
      },
      started: async (handle) => void (await this.#starts.get(handle)),
      exceed: (owner, reason) => {
        this.close(owner, { kind: 'budget', reason });
        lookForEnds();
      },
      lookForEnds,
    });
  }

  get tree(): TreeState {
    return this.#tree;
  }

  /** Runs at work whose end this execution is not told of, the root among them. */
  untold(): readonly Handle[] {
    return entriesOf(this.#tree).flatMap(([handle, run]) =>
      isAtWork(run) && !this.#own.has(handle) ? [handle] : [],
    );
  }

  /** Runs that ended in another way than with a result. */
  withoutCounters(): readonly Handle[] {
    return entriesOf(this.#tree).flatMap(([handle, run]) =>
      run.state === 'ended' && run.counters === null ? [handle] : [],
    );
  }

  /** The one place where the tree changes. */
  apply(event: TreeEvent): void {
    const { tree, effects } = stepTree(this.#tree, event);
    this.#tree = tree;
    for (const effect of effects) this.#carryOut(effect);
  }

  /** Resolves when Temporal has stored the start, or with why there is none. */
  async spawn(request: SpawnChild): Promise<SpawnAnswer> {
    const judgement = judgeSpawn(this.#tree, request);
    switch (judgement.kind) {
      case 'refused':
        return judgement;
      case 'existing': {
        const start = await this.#starts.get(request.handle);
        return start?.kind === 'refused' ? start : judgement;
      }
      case 'start': {
        this.apply({ kind: 'run-added', handle: request.handle, run: judgement.run });
        const start = this.#start(request);
        this.#starts.set(request.handle, start);
        try {
          return await start;
        } finally {
          this.#starts.delete(request.handle);
        }
      }
    }
  }

  /** Ends the subtree and keeps it shut. Whoever does not hear of it is asked again, by its id. */
  close(handle: Handle, closed: Closed): void {
    this.apply({ kind: 'close', handle, closed });
  }

  async #start({ handle, parent, requestHash, input }: SpawnChild): Promise<SpawnAnswer> {
    const allowance = this.budgets.add(handle, parent, input.budget ?? null);
    const child = {
      ...input,
      parent,
      root: this.#tree.root,
      ...(allowance === null ? {} : { allowance }),
    };
    this.#own.add(handle);
    try {
      const started = await this.#scopeOf(handle).run(() => startRunWorkflow(handle, child, requestHash));
      this.apply({ kind: 'run-started', handle });
      void this.#noteEnd(handle, started);
      return { kind: 'started' };
    } catch (error) {
      this.#own.delete(handle);
      this.apply({ kind: 'start-failed', handle });
      this.budgets.notStarted(handle);
      return refusedStart(handle, error);
    }
  }

  async #noteEnd(handle: Handle, child: ChildWorkflowHandle<Workflow>): Promise<void> {
    let end: { readonly status: RunStatus; readonly counters: RunCounters | null };
    let spent: Spent | null = null;
    try {
      const result = (await child.result()) as Partial<RunResult> | undefined;
      end = { status: 'Completed', counters: result?.counters ?? null };
      spent = result?.spent ?? null;
    } catch (error) {
      const cancelled = error instanceof ChildWorkflowFailure && error.cause instanceof CancelledFailure;
      end = { status: cancelled ? 'Cancelled' : 'Failed', counters: null };
    }
    this.apply({ kind: 'run-ended', handle, ...end });
    this.budgets.ended(handle, spent);
  }

  /** A run's scope lies in the scope of the run above it, whether or not that one is a child itself. */
  #scopeOf(handle: Handle): CancellationScope {
    const known = this.#scopes.get(handle);
    if (known !== undefined) return known;
    const parent = runOf(this.#tree, handle)?.parent ?? null;
    const scope = new CancellationScope(
      parent === null ? { cancellable: true } : { cancellable: true, parent: this.#scopeOf(parent) },
    );
    this.#scopes.set(handle, scope);
    return scope;
  }

  /** Asks those to end whom an earlier execution may have asked in vain. Called once, at the start. */
  resume(): void {
    this.#askToEnd(runsToEnd(this.#tree));
  }

  #carryOut({ top, runs }: TreeEffect): void {
    this.#askToEnd(runs, () => this.#scopeOf(top).cancel());
  }

  #askToEnd(runs: readonly RunToEnd[], cancelOwn: () => void = () => undefined): void {
    if (runs.length === 0) return;
    for (const { handle, reason } of runs) nameCancelReason(handle, reason);
    cancelOwn();
    for (const { handle } of runs) if (!this.#own.has(handle)) void cancelById(handle);
    void this.#askAgain(runs.map(({ handle }) => handle));
  }

  /** The request to a child names the execution that was started, and a run may have continued as new. */
  async #askAgain(handles: readonly Handle[]): Promise<void> {
    for (const waitMs of secondRequestsMs) {
      const deaf = (): readonly Handle[] =>
        handles.filter((handle) => runOf(this.#tree, handle)?.state === 'running');
      if (await condition(() => deaf().length === 0, waitMs)) return;
      await Promise.all(deaf().map(cancelById));
    }
  }
}

async function startRunWorkflow(handle: Handle, input: RunInput, requestHash: string) {
  const memo = memoOf(startRun(handle, input, 0));
  const attribute = (name: string, value: string) => ({
    key: defineSearchAttributeKey(name, 'KEYWORD'),
    value,
  });
  return await startChild(workflowTypes.agentRun, {
    workflowId: handle,
    args: [input],
    memo: { [runMemoKey]: memo, [requestMemoKey]: requestHash },
    typedSearchAttributes: [
      attribute(searchAttributes.status, memo.status),
      attribute(searchAttributes.caller, memo.caller),
      attribute(searchAttributes.class, memo.class),
      attribute(searchAttributes.root, memo.root),
      attribute(searchAttributes.parent, memo.parent ?? memo.root),
    ],
    staticSummary: memo.summary,
    // A run outlives this workflow, which may end or continue as new beside it.
    parentClosePolicy: ParentClosePolicy.ABANDON,
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
  });
}

function refusedStart(handle: Handle, error: unknown): SpawnAnswer {
  if (error instanceof WorkflowExecutionAlreadyStartedError) {
    return { kind: 'refused', why: 'taken', message: `${handle} is a run of its own already` };
  }
  if (isCancellation(error)) {
    const message = `${handle} was not started: a run above it was cancelled at the same moment`;
    return { kind: 'refused', why: 'cancelled', message };
  }
  const words = error instanceof Error ? error.message : String(error);
  return { kind: 'refused', why: 'failed', message: `${handle} could not be started: ${words}` };
}

/** Asks once; a run that has ended, or that never was, needs no cancel. */
async function cancelById(handle: Handle): Promise<void> {
  try {
    await getExternalWorkflowHandle(handle).cancel();
  } catch {
    // Temporal knows of no such run at work.
  }
}
