/**
 * What runs and their tree tell each other about budgets, by signal. Reports hold sums since the start of
 * the run and are numbered, grants name the report that they answer: one that comes twice, late or out of
 * order changes nothing. Types and names only.
 */
import type { BudgetName } from '../../contracts/run-names.ts';
import type { BudgetLimits } from '../../contracts/run.ts';
import type { Amounts, Bounds } from './amounts.ts';

/** Signal to the tree; argument: {@link BudgetReport}. */
export const budgetReportSignal = 'budgetReport';
/** Signals to a run; arguments: {@link BudgetGrant}, {@link BudgetRecall}, nothing. */
export const budgetGrantSignal = 'budgetGrant';
export const budgetRecallSignal = 'budgetRecall';
export const budgetHandOverSignal = 'budgetHandOver';

/** A run's own budget, as it hands it to the tree. */
export interface OwnBudget {
  readonly limits: BudgetLimits;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly exceeded: BudgetName | null;
}

export interface BudgetReport {
  readonly run: string;
  /** Counts the reports of this run, from 1. */
  readonly n: number;
  /** Spent by this run alone since its start. */
  readonly used: Amounts;
  /** Tokens it keeps for the turn that runs now; everything else that it was granted goes back. */
  readonly heldTokens: number;
  /** It will tell by itself what is left of them after that turn. */
  readonly willReport: boolean;
  /** What it wants before it goes on; null: nothing. */
  readonly need: Amounts | null;
  /** The run has ended; this is its last report. */
  readonly final: boolean;
  /** null: the run has no budget of its own. */
  readonly own: OwnBudget | null;
}

export interface BudgetGrant {
  /** The report that asked. */
  readonly n: number;
  readonly granted: Bounds;
}

/** The run is to give back what it does not need now of what it was granted on report `n`. */
export interface BudgetRecall {
  readonly n: number;
}
