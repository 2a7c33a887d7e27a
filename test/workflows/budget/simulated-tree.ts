/**
 * A tree of runs with budgets that is driven step by step: every run keeps a real account, the tree the
 * real ledgers, and what they tell each other lies in a heap from which messages are taken in any order,
 * twice, or late. It knows what really was spent, so that a test can hold the ledgers to it.
 */
import type { BudgetLimits } from '../../../contracts/run.ts';
import {
  ask,
  closeAccount,
  exceed,
  exceededIn,
  giveBack,
  giveBackRecalled,
  handOver,
  isAsking,
  openAccount,
  settleTurn,
  shortOf,
  take,
  takeGrant,
  takeRecall,
} from '../../../workflows/budget/account.ts';
import type { BudgetAccount, Reported } from '../../../workflows/budget/account.ts';
import type { Amounts } from '../../../workflows/budget/amounts.ts';
import type { BudgetGrant, BudgetRecall } from '../../../workflows/budget/messages.ts';
import { budgetRefusal, reduceBudgets } from '../../../workflows/budget/tree-budgets.ts';
import type { BudgetEvent } from '../../../workflows/budget/tree-budgets.ts';
import { noTreeBudgets } from '../../../workflows/budget/tree-state.ts';
import type { BudgetEffect, TreeBudgets } from '../../../workflows/budget/tree-state.ts';

export interface SimulatedRun {
  readonly handle: string;
  readonly parent: string | null;
  readonly limits: BudgetLimits | null;
  account: BudgetAccount | null;
  /** `tools`: a round of calls whose calls are spent already. */
  doing: 'idle' | 'asking' | 'turn' | 'tools' | 'ended';
  /** What it asked for before it may go on. */
  wanted: Amounts | null;
  /** Really spent. */
  readonly spent: { tokens: number; toolCalls: number };
  /** Tokens by which its replies went beyond their reservations, all in all. */
  overshoot: number;
  killed: boolean;
}

type Message =
  | { readonly kind: 'to-tree'; readonly event: BudgetEvent }
  | { readonly kind: 'grant'; readonly run: string; readonly grant: BudgetGrant }
  | { readonly kind: 'recall'; readonly run: string; readonly recall: BudgetRecall }
  | { readonly kind: 'hand-over'; readonly run: string }
  | { readonly kind: 'cancel'; readonly run: string; readonly reason: string };

export const rootHandle = 'r0';

export class SimulatedTree {
  state: TreeBudgets = noTreeBudgets;
  readonly runs = new Map<string, SimulatedRun>();
  readonly heap: Message[] = [];
  readonly exceeded: Extract<BudgetEffect, { kind: 'exceeded' }>[] = [];
  /** Grants that answered a question. */
  grantsTaken = 0;
  hasTree = false;
  nowMs = 0;
  #steps = 0;

  constructor(limits: BudgetLimits | null) {
    this.#add(rootHandle, null, limits, openAccount(rootHandle, limits, null, 0));
  }

  run(handle: string): SimulatedRun {
    const run = this.runs.get(handle);
    if (run === undefined) throw new Error(`no run ${handle}`);
    return run;
  }

  live(): SimulatedRun[] {
    return [...this.runs.values()].filter((run) => run.doing !== 'ended');
  }

  /** The run and all below it. */
  subtree(handle: string): SimulatedRun[] {
    return [...this.runs.values()].filter((run) => this.#path(run.handle).includes(handle));
  }

  /** Starts a run under `parent`, be it at work or not. Returns whether it was let in. */
  spawn(parent: string, limits: BudgetLimits | null): boolean {
    if (!this.hasTree) this.#openTree();
    if (budgetRefusal(this.state, parent) !== null) return false;
    const handle = `r${this.runs.size}`;
    const effects = this.#reduce({ kind: 'added', run: handle, parent, limits, nowMs: this.nowMs });
    const first = effects.find((effect) => effect.kind === 'grant' && effect.run === handle);
    const allowance = first?.kind === 'grant' ? first.grant.granted : null;
    this.#add(handle, parent, limits, openAccount(handle, limits, allowance, this.nowMs));
    this.#carryOut(effects.filter((effect) => effect !== first));
    return true;
  }

  /** An idle run wants to do something that takes `need`. */
  want(run: SimulatedRun, need: Amounts): void {
    if (run.doing !== 'idle') return;
    run.wanted = need;
    const { account } = run;
    if (account === null) return this.#begin(run);
    const [short] = shortOf(account, need);
    if (short === undefined) {
      run.account = take(account, need);
      return this.#begin(run);
    }
    if (account.link === null) {
      run.account = exceed(account, short);
      return this.end(run);
    }
    run.doing = 'asking';
    this.#keep(run, ask(account, need));
  }

  /** The running turn ends with a reply of so many tokens, or the round of calls ends. */
  finish(run: SimulatedRun, replyTokens: number): void {
    const tokens = Math.max(1, replyTokens);
    if (run.doing === 'tools') run.doing = 'idle';
    if (run.doing !== 'turn') return;
    run.doing = 'idle';
    run.spent.tokens += tokens;
    const { account } = run;
    if (account === null) return;
    run.overshoot += Math.max(0, tokens - account.reservedTokens);
    const usage = { promptTokens: tokens, completionTokens: 0 };
    this.#keep(run, giveBackRecalled(settleTurn(account, usage, 1)));
  }

  /** It waits for its user. */
  pause(run: SimulatedRun): void {
    if (run.doing === 'idle' && run.account !== null) this.#keep(run, giveBack(run.account));
  }

  /** It ends by itself or by a cancel; Temporal tells the tree, at some time. */
  end(run: SimulatedRun): void {
    if (run.doing === 'ended') return;
    run.doing = 'ended';
    if (run.account !== null) {
      const { account, report } = closeAccount(run.account);
      this.#keep(run, { account, report: run.parent === null ? report : null });
    }
    this.#tellEnd(run, run.account?.used ?? { ...run.spent });
  }

  /** It ends without a word: the tree hears that it ended, and later what its memo says it had spent. */
  kill(run: SimulatedRun): void {
    if (run.doing === 'ended') return;
    run.doing = 'ended';
    run.killed = true;
    this.#toTree({ kind: 'ended', run: run.handle, used: null });
    this.#tellEnd(run, { ...run.spent });
  }

  /** The time of an owner is up. */
  elapse(owner: string): void {
    this.#carryOut(this.#reduce({ kind: 'elapsed', owner }));
  }

  /** Takes one message out of the heap; with `again` it stays there as well. */
  deliver(index: number, again: boolean): void {
    const at = index % Math.max(1, this.heap.length);
    const message = this.heap[at];
    if (message === undefined) return;
    if (!again) this.heap.splice(at, 1);
    if (message.kind === 'to-tree') {
      this.#carryOut(this.#reduce(message.event));
      return;
    }
    const run = this.run(message.run);
    if (run.doing === 'ended') return this.#notDelivered(message, run);
    switch (message.kind) {
      case 'cancel':
        if (run.account !== null) {
          const name = exceededIn(run.account, message.reason);
          if (name !== null) run.account = exceed(run.account, name);
        }
        return this.end(run);
      case 'hand-over':
        if (run.account !== null) this.#keep(run, handOver(run.account));
        return;
      case 'recall':
        if (run.account !== null) this.#keep(run, takeRecall(run.account, message.recall));
        return;
      case 'grant':
        return this.#grant(run, message.grant);
    }
  }

  deliverAll(): void {
    while (this.heap.length > 0) this.deliver(0, false);
  }

  #grant(run: SimulatedRun, grant: BudgetGrant): void {
    if (run.account === null) return;
    const asked = isAsking(run.account);
    const account = takeGrant(run.account, grant);
    if (asked && !isAsking(account)) {
      this.grantsTaken += 1;
      this.#begin(run);
    }
    this.#keep(run, giveBackRecalled(account));
  }

  /** A signal to a run that has ended fails, and the tree looks after the run. */
  #notDelivered(message: Message, run: SimulatedRun): void {
    if (message.kind === 'hand-over') this.#tellEndedRoot(run);
  }

  #openTree(): void {
    this.hasTree = true;
    const root = this.run(rootHandle);
    if (root.limits === null) return;
    this.#carryOut(this.#reduce({ kind: 'root', run: rootHandle }));
    this.heap.push({ kind: 'hand-over', run: rootHandle });
  }

  /** What the tree makes of the memo of a root that ended before it handed over. */
  #tellEndedRoot({ account, spent, limits }: SimulatedRun): void {
    if (limits === null) return;
    const used = account?.used ?? spent;
    const own = { limits, startedAtMs: 0, exceeded: account?.exceeded ?? null };
    const report = {
      run: rootHandle,
      n: 1,
      used,
      heldTokens: 0,
      willReport: false,
      need: null,
      final: true,
      own,
    };
    this.#toTree({ kind: 'report', report });
  }

  #tellEnd(run: SimulatedRun, used: Amounts): void {
    // Until the root has handed over, its end is told by its memo, as an answer to the hand-over.
    if (run.parent === null && !this.hasTree) return;
    this.#toTree({ kind: 'ended', run: run.handle, used });
  }

  #begin(run: SimulatedRun): void {
    const need = run.wanted ?? { tokens: 0, toolCalls: 0 };
    run.wanted = null;
    run.spent.toolCalls += need.toolCalls;
    run.doing = need.tokens > 0 ? 'turn' : 'tools';
  }

  #keep(run: SimulatedRun, { account, report }: Reported): void {
    run.account = account;
    if (report !== null) this.#toTree({ kind: 'report', report });
  }

  #toTree(event: BudgetEvent): void {
    this.heap.push({ kind: 'to-tree', event });
  }

  #reduce(event: BudgetEvent): readonly BudgetEffect[] {
    const { state, effects } = reduceBudgets(this.state, event);
    // What does not survive JSON would be lost when the tree continues as new.
    this.#steps += 1;
    this.state = this.#steps % 20 === 0 ? (JSON.parse(JSON.stringify(state)) as TreeBudgets) : state;
    return effects;
  }

  #carryOut(effects: readonly BudgetEffect[]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case 'grant':
        case 'recall':
          this.heap.push(effect);
          break;
        case 'exceeded':
          this.exceeded.push(effect);
          for (const run of this.subtree(effect.owner)) {
            this.heap.push({ kind: 'cancel', run: run.handle, reason: effect.reason });
          }
          break;
        case 'arm':
          break;
      }
    }
  }

  #path(handle: string): string[] {
    const path: string[] = [];
    for (let at: string | null = handle; at !== null; at = this.run(at).parent) path.push(at);
    return path;
  }

  #add(handle: string, parent: string | null, limits: BudgetLimits | null, account: BudgetAccount | null) {
    this.runs.set(handle, {
      handle,
      parent,
      limits,
      account,
      doing: 'idle',
      wanted: null,
      spent: { tokens: 0, toolCalls: 0 },
      overshoot: 0,
      killed: false,
    });
  }
}
