/**
 * Holds a run to the budgets that bind it: reserves before each turn and each round of tool calls, settles
 * after it, and ends the run when a budget is used up or its time is. What is reserved, spent and asked is
 * decided in `budget/account.ts`; this file waits, keeps the time and talks to the tree.
 */
import {
  CancellationScope,
  CancelledFailure,
  condition,
  defineSignal,
  getExternalWorkflowHandle,
  setHandler,
  sleep,
} from '@temporalio/workflow';
import { HandlerUnfinishedPolicy } from '@temporalio/common';
import type { ModelTurnResult } from '../activities/activity-types.ts';
import { treeWorkflowId } from '../contracts/run-names.ts';
import { bytesAsText } from '../contracts/tool-images.ts';
import * as accounts from './budget/account.ts';
import type { BudgetAccount, Reported } from './budget/account.ts';
import type { Amounts } from './budget/amounts.ts';
import {
  budgetGrantSignal,
  budgetHandOverSignal,
  budgetRecallSignal,
  budgetReportSignal,
} from './budget/messages.ts';
import type { BudgetGrant, BudgetRecall, BudgetReport } from './budget/messages.ts';
import { bytesPerToken, turnTokens } from './budget/prompt-estimate.ts';
import { endAsCancelled } from './end-as-cancelled.ts';
import type { RunState } from './run-state.ts';
import { utf8Bytes } from './text.ts';
import type { Transcript } from './transcript.ts';
import { workflowNowMs } from './workflow-clock.ts';

const reportSignal = defineSignal<[BudgetReport]>(budgetReportSignal);
const grantSignal = defineSignal<[BudgetGrant]>(budgetGrantSignal);
const recallSignal = defineSignal<[BudgetRecall]>(budgetRecallSignal);
const handOverSignal = defineSignal(budgetHandOverSignal);

/** Milliseconds that a tree has to end a run whose time is up. */
const treeGraceMs = 15_000;

export interface BudgetHolder {
  read(): RunState;
  write(account: BudgetAccount): void;
  /** Tells readers how the run stands. */
  publish(): void;
}

export interface BudgetDesk {
  /**
   * Resolves when the turn that `read()` is about to run has its tokens reserved.
   * @throws CancelledFailure when a budget is used up, or the run is cancelled while it waits for its tree.
   */
  reserveTurn(): Promise<void>;
  /** @param transcript what the turn was made of. */
  settleTurn(turn: ModelTurnResult, transcript: Transcript): void;
  /** Spends `count` tool calls. @throws as `reserveTurn`. */
  reserveCalls(count: number): Promise<void>;
  /** The run waits for its user: others may have what it holds. */
  giveBack(): void;
  /** Resolves when all that was to be told to the tree is out. */
  told(): Promise<void>;
  /** Settles the account for good, and resolves when the tree knows, if it has to be told. */
  close(reason: string | null): Promise<void>;
  /** Why the run ended when it was a budget of its own; null: it was not. */
  reason(): string | null;
}

/** Serves the budgets of a run from now on; to be called in the scope that a used up budget cancels. */
export function openBudgetDesk(holder: BudgetHolder): BudgetDesk {
  const desk = new Desk(holder);
  // A handler lasts until its answer is out, so that no end and no new execution cuts it off.
  const unfinished = { unfinishedPolicy: HandlerUnfinishedPolicy.ABANDON } as const;
  setHandler(grantSignal, async (grant) => await desk.takeGrant(grant), unfinished);
  setHandler(recallSignal, async (recall) => await desk.takeRecall(recall), unfinished);
  setHandler(handOverSignal, async () => await desk.handOver(), unfinished);
  desk.watchTime();
  return desk;
}

class Desk implements BudgetDesk {
  readonly #holder: BudgetHolder;
  readonly #scope = CancellationScope.current();
  #reason: string | null = null;
  /** Reports are sent in their order, and none is cut off by the end of the run. */
  #sent: Promise<void> = Promise.resolve();

  constructor(holder: BudgetHolder) {
    this.#holder = holder;
  }

  reason(): string | null {
    return this.#reason;
  }

  async reserveTurn(): Promise<void> {
    const { input, transcript, tools, budget } = this.#holder.read();
    if (budget === null) return;
    const tokens = turnTokens({
      transcriptBytes: bytesAsText(transcript, bytesPerToken),
      toolsBytes: budget.measured === null ? utf8Bytes(JSON.stringify(tools)) : 0,
      measured: budget.measured,
      maxTokens: input.maxTokens,
    });
    await this.#reserve({ tokens, toolCalls: 0 });
  }

  async reserveCalls(count: number): Promise<void> {
    await this.#reserve({ tokens: 0, toolCalls: count });
  }

  settleTurn(turn: ModelTurnResult, transcript: Transcript): void {
    const account = this.#account();
    if (account === null) return;
    const transcriptBytes = bytesAsText(transcript, bytesPerToken);
    this.#keep(accounts.giveBackRecalled(accounts.settleTurn(account, turn, transcriptBytes)));
  }

  giveBack(): void {
    const account = this.#account();
    if (account !== null) this.#keep(accounts.giveBack(account));
  }

  async close(reason: string | null): Promise<void> {
    const account = this.#account();
    if (account === null) return;
    const name = reason === null ? null : accounts.exceededIn(account, reason);
    const settled = name === null ? account : accounts.exceed(account, name);
    const { account: closed, report } = accounts.closeAccount(settled);
    // Of a child the tree learns the end, and what it has spent, from Temporal.
    const isRoot = this.#holder.read().input.root === undefined;
    this.#keep({ account: closed, report: isRoot ? report : null });
    await this.told();
  }

  async told(): Promise<void> {
    await CancellationScope.nonCancellable(async () => await this.#sent);
  }

  async takeGrant(grant: BudgetGrant): Promise<void> {
    const account = this.#account();
    if (account === null) return;
    this.#keep(accounts.giveBackRecalled(accounts.takeGrant(account, grant)));
    await this.told();
  }

  async takeRecall(recall: BudgetRecall): Promise<void> {
    const account = this.#account();
    if (account === null) return;
    this.#keep(accounts.takeRecall(account, recall));
    await this.told();
  }

  async handOver(): Promise<void> {
    const account = this.#account();
    if (account === null || !this.#isOpen()) return;
    this.#keep(accounts.handOver(account));
    await this.told();
  }

  /** A timer of its own needs nobody, and fires when nothing else happens. */
  watchTime(): void {
    const seconds = this.#account()?.limits?.seconds;
    if (seconds === undefined) return;
    const dueMs = this.#holder.read().startedAtMs + seconds * 1_000;
    void CancellationScope.nonCancellable(async () => {
      await sleep(Math.max(1, dueMs - workflowNowMs()));
      // The tree has the same timer, and ends the whole subtree by it; this one is for a tree that is gone.
      if (this.#isInTree()) await sleep(treeGraceMs);
      const account = this.#account();
      if (account === null || !this.#isOpen()) return;
      this.#exceed(accounts.exceed(account, 'seconds'), null);
      this.#scope.cancel();
    });
  }

  #isInTree(): boolean {
    return (this.#account()?.link ?? null) !== null;
  }

  #account(): BudgetAccount | null {
    return this.#holder.read().budget;
  }

  #isOpen(): boolean {
    return this.#holder.read().status === 'Running';
  }

  async #reserve(need: Amounts): Promise<void> {
    const account = this.#account();
    if (account === null) return;
    const [short] = accounts.shortOf(account, need);
    if (short === undefined) {
      this.#holder.write(accounts.take(account, need));
      return;
    }
    if (account.link === null) {
      this.#exceed(accounts.exceed(account, short), need);
      throw new CancelledFailure(this.#reason ?? 'budget exceeded');
    }
    this.#keep(accounts.ask(account, need));
    this.#holder.publish();
    await condition(() => !this.#isAsking());
  }

  #isAsking(): boolean {
    const account = this.#account();
    return account !== null && accounts.isAsking(account);
  }

  #exceed(account: BudgetAccount, need: Amounts | null): void {
    this.#holder.write(account);
    this.#reason = accounts.tellExceeded(account, need);
    endAsCancelled();
  }

  #keep({ account, report }: Reported): void {
    this.#holder.write(account);
    if (report === null) return;
    this.#sent = CancellationScope.nonCancellable(async () => await this.#send(report));
  }

  /** A tree that is not there is told nothing; a run that waits for its answer cannot go on without it. */
  async #send(report: BudgetReport): Promise<void> {
    const { input, handle } = this.#holder.read();
    const tree = getExternalWorkflowHandle(treeWorkflowId(input.root ?? handle));
    try {
      await tree.signal(reportSignal, report);
    } catch {
      if (report.need === null || !this.#isOpen()) return;
      this.#reason = 'its tree, which keeps its budget, is not there any more';
      endAsCancelled();
      this.#scope.cancel();
    }
  }
}
