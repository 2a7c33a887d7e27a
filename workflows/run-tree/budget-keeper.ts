/**
 * Keeps the budgets of a tree: hands every run its allowance, hears their reports, answers them, keeps the
 * time of every owner, and ends the subtree of an owner whose budget is used up. What it decides is in
 * `budget/tree-budgets.ts`, pure.
 */
import { condition, defineSignal, getExternalWorkflowHandle, sleep } from '@temporalio/workflow';
import type { Handle } from '../../contracts/ids.ts';
import type { BudgetLimits, RunCounters, Spent } from '../../contracts/run.ts';
import type { DescribedRun } from '../../contracts/run-tree.ts';
import type { Bounds } from '../budget/amounts.ts';
import { budgetGrantSignal, budgetHandOverSignal, budgetRecallSignal } from '../budget/messages.ts';
import type { BudgetGrant, BudgetRecall, BudgetReport } from '../budget/messages.ts';
import { dueOwners, openDeadlines, reduceBudgets } from '../budget/tree-budgets.ts';
import type { BudgetEvent } from '../budget/tree-budgets.ts';
import type { BudgetEffect, TreeBudgets } from '../budget/tree-state.ts';
import { workflowNowMs } from '../workflow-clock.ts';

const grantSignal = defineSignal<[BudgetGrant]>(budgetGrantSignal);
const recallSignal = defineSignal<[BudgetRecall]>(budgetRecallSignal);
const handOverSignal = defineSignal(budgetHandOverSignal);

/** Milliseconds that a first child waits for the ledger of its root; after that it starts with nothing and asks. */
const handOverLimitMs = 3_000;

export interface BudgetTree {
  readonly root: Handle;
  read(): TreeBudgets;
  write(state: TreeBudgets): void;
  /** Resolves when the run is started or was refused; at once for all that were started before. */
  started(handle: Handle): Promise<void>;
  /** Ends the subtree of `owner` and keeps it shut. */
  exceed(owner: Handle, reason: string): void;
  /** A run cannot be reached: it may have ended. */
  lookForEnds(): void;
}

export class BudgetKeeper {
  readonly #tree: BudgetTree;
  /** Messages that are on their way. */
  #sending = 0;

  /** Made inside a scope that nothing cancels; goes on where an execution before this one ended. */
  constructor(tree: BudgetTree) {
    this.#tree = tree;
    for (const deadline of openDeadlines(tree.read())) this.#carryOut(deadline);
    if (this.#isRootAwaited()) void this.#askRoot();
  }

  /** Nothing that was decided is still to be told. */
  get isQuiet(): boolean {
    return this.#sending === 0;
  }

  /** Resolves when children can be given an allowance, or it takes too long to wait for it. */
  async ready(): Promise<void> {
    for (const owner of dueOwners(this.#tree.read(), workflowNowMs()))
      this.#apply({ kind: 'elapsed', owner });
    if (this.#isRootAwaited()) await condition(() => !this.#isRootAwaited(), handOverLimitMs);
  }

  /** A run is about to be started. @returns what it may spend to begin with; null: no budget binds it. */
  add(run: Handle, parent: Handle, limits: BudgetLimits | null): Bounds | null {
    const { effects, state } = reduceBudgets(this.#tree.read(), {
      kind: 'added',
      run,
      parent,
      limits,
      nowMs: workflowNowMs(),
    });
    this.#tree.write(state);
    let first: Bounds | null = null;
    for (const effect of effects) {
      if (effect.kind === 'grant' && effect.run === run) first = effect.grant.granted;
      else this.#carryOut(effect);
    }
    return first;
  }

  /** It was not started after all. */
  notStarted(run: Handle): void {
    this.#apply({ kind: 'not-started', run });
  }

  take(report: BudgetReport): void {
    this.#apply({ kind: 'report', report });
  }

  /** @param spent null: not known yet. */
  ended(run: Handle, spent: Spent | null): void {
    this.#apply({ kind: 'ended', run, used: spent });
  }

  /** What was looked up of a run: of the root whether it has a budget, of an ended one what it has spent. */
  described(run: DescribedRun, hasEnded: boolean): void {
    const isRoot = run.handle === this.#tree.root;
    if (isRoot && run.budget !== null && this.#tree.read().members[run.handle] === undefined) {
      this.#apply({ kind: 'root', run: run.handle });
      if (!hasEnded) void this.#askRoot();
    }
    if (!hasEnded) return;
    if (isRoot && this.#isRootAwaited()) this.#apply({ kind: 'report', report: lastReportOf(run) });
    this.#apply({ kind: 'ended', run: run.handle, used: spentBy(run) });
  }

  #isRootAwaited(): boolean {
    const { members, owners } = this.#tree.read();
    return members[this.#tree.root] !== undefined && owners[this.#tree.root] === undefined;
  }

  async #askRoot(): Promise<void> {
    const { root } = this.#tree;
    await this.#send(root, async () => await getExternalWorkflowHandle(root).signal(handOverSignal));
    // It may have come to its end with the message unread.
    if (this.#isRootAwaited()) this.#tree.lookForEnds();
  }

  #apply(event: BudgetEvent): void {
    const { state, effects } = reduceBudgets(this.#tree.read(), event);
    this.#tree.write(state);
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: BudgetEffect): void {
    switch (effect.kind) {
      case 'grant': {
        const { run, grant } = effect;
        void this.#send(run, async () => await getExternalWorkflowHandle(run).signal(grantSignal, grant));
        return;
      }
      case 'recall': {
        const { run, recall } = effect;
        void this.#send(run, async () => await getExternalWorkflowHandle(run).signal(recallSignal, recall));
        return;
      }
      case 'exceeded':
        this.#tree.exceed(effect.owner as Handle, effect.reason);
        return;
      case 'arm':
        void this.#wake(effect.owner, effect.atMs);
        return;
    }
  }

  async #wake(owner: string, atMs: number): Promise<void> {
    await sleep(Math.max(1, atMs - workflowNowMs()));
    this.#apply({ kind: 'elapsed', owner });
  }

  async #send(run: string, signal: () => Promise<void>): Promise<void> {
    this.#sending += 1;
    try {
      await this.#tree.started(run as Handle);
      await signal();
    } catch {
      this.#tree.lookForEnds();
    } finally {
      this.#sending -= 1;
    }
  }
}

/** What a run has spent as its memo tells it; of one that no budget bound then, what it has counted. */
function spentBy({ spent, counters }: DescribedRun): Spent {
  return spent ?? spentOf(counters);
}

function spentOf(counters: RunCounters | null): Spent {
  if (counters === null) return { tokens: 0, toolCalls: 0 };
  const { promptTokens, completionTokens, toolCalls } = counters;
  return { tokens: promptTokens + completionTokens, toolCalls };
}

/** The report with which a root would have handed its ledger over, had it lived to. */
function lastReportOf(run: DescribedRun): BudgetReport {
  const { handle, budget, startedAtMs } = run;
  return {
    run: handle,
    n: 1,
    used: spentBy(run),
    heldTokens: 0,
    willReport: false,
    need: null,
    final: true,
    own: {
      limits: budget?.limits ?? {},
      startedAtMs: startedAtMs ?? workflowNowMs(),
      exceeded: budget?.exceeded ?? null,
    },
  };
}
