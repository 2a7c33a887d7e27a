/**
 * Finds what Temporal does not tell a tree: the end of its root and of runs that an earlier execution
 * started, and the counters of runs that ended without a result. It asks by a short local activity, so
 * that no worker slot is held while it waits, and waits longer from look to look.
 */
import { condition } from '@temporalio/workflow';
import type { Caller, Handle } from '../../contracts/ids.ts';
import { zeroCounters } from '../../contracts/run-names.ts';
import type { DescribedRun } from '../../contracts/run-tree.ts';
import { treeActivities } from '../activity-stubs.ts';
import type { TreeChildren } from './children.ts';
import { runOf } from './tree-state.ts';

/** Runs that one activity looks up at most. */
const lookUpLimit = 100;
const firstWaitMs = 1_000;
const longestWaitMs = 300_000;

export class RunEnds {
  readonly #children: TreeChildren;
  #rootKnown: boolean;
  #waitMs = firstWaitMs;
  #hurried = false;
  /** Looks at all runs of which nothing is told, begun and ended. */
  #begun = 0;
  #ended = 0;

  constructor(children: TreeChildren) {
    this.#children = children;
    this.#rootKnown = runOf(children.tree, children.tree.root)?.state === 'ended';
  }

  /** Whether it is known if the root has ended, and how, so that a spawn can be judged. */
  get rootKnown(): boolean {
    return this.#rootKnown;
  }

  /** Something happened that ends runs: look soon, and in short steps again. */
  hurry(): void {
    this.#waitMs = firstWaitMs;
    this.#hurried = true;
  }

  /** Resolves when every run that ends untold and had ended by now is known to have ended. */
  async lookNow(): Promise<void> {
    const wanted = this.#begun + 1;
    this.hurry();
    await condition(() => this.#ended >= wanted || this.#children.untold().length === 0);
  }

  /** Never resolves; it is gone with the workflow. */
  async watch(): Promise<never> {
    if (!this.#rootKnown) await this.#lookUp([this.#children.tree.root]);
    this.#rootKnown = true;
    for (;;) {
      await condition(() => this.#hasNews() || this.#children.untold().length > 0);
      if (!this.#hasNews()) await condition(() => this.#hasNews(), this.#waitMs);
      const missing = this.#children.withoutCounters();
      if (missing.length > 0) await this.#lookUp(missing);
      else await this.#lookAtUntold();
    }
  }

  #hasNews(): boolean {
    return this.#hurried || this.#children.withoutCounters().length > 0;
  }

  async #lookAtUntold(): Promise<void> {
    this.#hurried = false;
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
    this.#begun += 1;
    await this.#lookUp(this.#children.untold());
    this.#ended += 1;
  }

  async #lookUp(handles: readonly Handle[]): Promise<void> {
    for (let from = 0; from < handles.length; from += lookUpLimit) {
      const found = await treeActivities.describeRuns(handles.slice(from, from + lookUpLimit));
      for (const run of found) this.#take(run);
    }
  }

  #take(described: DescribedRun): void {
    const { handle: text, status, caller, counters } = described;
    const handle = text as Handle;
    const run = runOf(this.#children.tree, handle);
    if (run === null) return;
    const ended = status === null || status === 'Completed' || status === 'Failed' || status === 'Cancelled';
    if (run.caller === null && caller !== null) {
      this.#children.apply({ kind: 'caller-known', handle, caller: caller as Caller });
    }
    // First, so that a run which a budget has ended counts as ended by that.
    this.#children.budgets.described(described, ended);
    if (run.state === 'ended') {
      // What ended and cannot be looked up any more is not asked for again.
      this.#children.apply({ kind: 'counters-known', handle, counters: counters ?? zeroCounters });
    } else if (ended) {
      this.#children.apply({
        kind: 'run-ended',
        handle,
        status: status ?? 'Failed',
        counters: counters ?? zeroCounters,
      });
    }
  }
}
