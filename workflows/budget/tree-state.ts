/**
 * What a tree knows of budgets: the ledger of each run that has one, and of each run below such a ledger
 * what it has spent and holds. A run is booked in every ledger of its path. One plain value, carried over
 * to a next workflow execution as it is. Pure.
 */
import type { BudgetName } from '../../contracts/run-names.ts';
import { minus, noAmounts } from './amounts.ts';
import type { Amounts, PooledName } from './amounts.ts';
import type { BudgetGrant, BudgetRecall } from './messages.ts';
import { book } from './owner-ledger.ts';
import type { OwnerLedger } from './owner-ledger.ts';

export interface TreeBudgets {
  /** By handle. The ledger of a root is missing until the root has handed it over. */
  readonly owners: Readonly<Record<string, OwnerLedger>>;
  /** By handle; only runs that some ledger binds. */
  readonly members: Readonly<Record<string, Member>>;
  /** Questions so far; they are answered in this order. */
  readonly questions: number;
}

export interface Member {
  /** The runs whose ledgers bind it, innermost first; itself among them when it has one. */
  readonly owners: readonly string[];
  /** Number of its latest report. */
  readonly reports: number;
  readonly used: Amounts;
  /** Holds this of what it was granted, as far as the tree knows. */
  readonly granted: Amounts;
  readonly question: { readonly need: Amounts; readonly order: number } | null;
  /** It may hold more than it needs, or will once its turn has ended, and was not asked to give it back. */
  readonly mayReturn: boolean;
  /** `ending`: it has ended, and it is not known yet what it spent; until then it holds what it held. */
  readonly state: 'live' | 'ending' | 'ended';
}

export type BudgetEffect =
  | { readonly kind: 'grant'; readonly run: string; readonly grant: BudgetGrant }
  | { readonly kind: 'recall'; readonly run: string; readonly recall: BudgetRecall }
  /** Once for each owner: its subtree is to be cancelled, and no run may be started in it. */
  | {
      readonly kind: 'exceeded';
      readonly owner: string;
      readonly name: BudgetName;
      /** `budget exceeded: tokens 10234/10000` */
      readonly reason: string;
    }
  /** `elapsed` is due for this owner at `atMs`, in milliseconds since the epoch. */
  | { readonly kind: 'arm'; readonly owner: string; readonly atMs: number };

export interface Outcome {
  readonly state: TreeBudgets;
  readonly effects: readonly BudgetEffect[];
}

export const noTreeBudgets: TreeBudgets = { owners: {}, members: {}, questions: 0 };

export const newMember = (owners: readonly string[]): Member => ({
  owners,
  reports: 0,
  used: noAmounts,
  granted: noAmounts,
  question: null,
  mayReturn: false,
  state: 'live',
});

export function withOwner(state: TreeBudgets, owner: string, ledger: OwnerLedger): TreeBudgets {
  return { ...state, owners: { ...state.owners, [owner]: ledger } };
}

/** Replaces what is known of a run, and books what it has spent and holds since in all its ledgers. */
export function withMember(state: TreeBudgets, run: string, next: Member): TreeBudgets {
  const before = state.members[run];
  const spent = minus(next.used, before?.used ?? noAmounts);
  const granted = minus(next.granted, before?.granted ?? noAmounts);
  const owners = { ...state.owners };
  for (const owner of next.owners) {
    const ledger = owners[owner];
    if (ledger !== undefined) owners[owner] = book(ledger, spent, granted);
  }
  return { ...state, owners, members: { ...state.members, [run]: next } };
}

/** Whether a ledger of the run's path is used up for good: it gets nothing any more and is cancelled. */
export function isDoomed(state: TreeBudgets, { owners }: Pick<Member, 'owners'>): boolean {
  return owners.some((owner) => (state.owners[owner]?.exceeded ?? null) !== null);
}

/** Live runs below an owner, itself included. */
export function liveUnder(state: TreeBudgets, owner: string): number {
  return Object.values(state.members).filter(
    (member) => member.state === 'live' && member.owners.includes(owner),
  ).length;
}

/** Other runs below `owner` that hold some of `name`. */
export function otherHolders(state: TreeBudgets, owner: string, name: PooledName, asker: string): string[] {
  return Object.entries(state.members)
    .filter(
      ([run, member]) =>
        run !== asker && member.state === 'live' && member.granted[name] > 0 && member.owners.includes(owner),
    )
    .map(([run]) => run);
}
