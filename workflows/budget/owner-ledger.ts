/**
 * The ledger of one run with a budget, for the whole of its subtree. What is granted counts like what is
 * spent, so used and granted together never go beyond the limit; only a reply that is larger than its
 * reservation can. Pure.
 */
import type { BudgetName } from '../../contracts/run-names.ts';
import type { BudgetLimits, RunBudget } from '../../contracts/run.ts';
import { noAmounts, plus, pooledNames } from './amounts.ts';
import type { Amounts, PooledName } from './amounts.ts';

export interface OwnerLedger {
  readonly limits: BudgetLimits;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** By the owner and everything below it. */
  readonly used: Amounts;
  /** To the owner and everything below it, and neither spent nor given back yet. */
  readonly granted: Amounts;
  readonly exceeded: BudgetName | null;
}

export function openLedger(limits: BudgetLimits, startedAtMs: number): OwnerLedger {
  return { limits, startedAtMs, used: noAmounts, granted: noAmounts, exceeded: null };
}

/** What can still be granted; null: not limited. Negative after a reply beyond its reservation. */
export function remainder({ limits, used, granted }: OwnerLedger, name: PooledName): number | null {
  const limit = limits[name];
  return limit === undefined ? null : limit - used[name] - granted[name];
}

/** Books a change of what one run below the owner has spent and of what it holds. */
export function book(ledger: OwnerLedger, spent: Amounts, granted: Amounts): OwnerLedger {
  return { ...ledger, used: plus(ledger.used, spent), granted: plus(ledger.granted, granted) };
}

/** What more than the limit has been spent of; null: nothing. */
export function overspent({ limits, used }: OwnerLedger): PooledName | null {
  return pooledNames.find((name) => used[name] > (limits[name] ?? Infinity)) ?? null;
}

export function markExceeded(ledger: OwnerLedger, name: BudgetName): OwnerLedger {
  return { ...ledger, exceeded: ledger.exceeded ?? name };
}

/** As readers see it. */
export function viewLedger({ limits, used, exceeded, startedAtMs }: OwnerLedger, nowMs: number): RunBudget {
  return {
    limits,
    used: { ...used, seconds: Math.max(0, Math.floor((nowMs - startedAtMs) / 1_000)) },
    exceeded,
    isShared: true,
  };
}
