/**
 * Budgets of a whole tree as one reducer: what happened goes in, the new state and what is to be done
 * come out. Messages may come twice, late or out of order. Pure; the workflow carries the effects out.
 */
import type { BudgetLimits } from '../../contracts/run.ts';
import { mapAmounts, noAmounts } from './amounts.ts';
import type { Amounts } from './amounts.ts';
import { answerQuestions, exceedOwner, grant, grantable, reasonOf } from './answer-questions.ts';
import type { BudgetReport, OwnBudget } from './messages.ts';
import { book, openLedger } from './owner-ledger.ts';
import { isDoomed, newMember, withMember, withOwner } from './tree-state.ts';
import type { BudgetEffect, Member, Outcome, TreeBudgets } from './tree-state.ts';

export type BudgetEvent =
  /** The root has a budget and a child: its first report, which hands its ledger over, is awaited. */
  | { readonly kind: 'root'; readonly run: string }
  /** A run is about to be started. Its first grant is an effect, and goes along with its start. */
  | {
      readonly kind: 'added';
      readonly run: string;
      readonly parent: string;
      readonly limits: BudgetLimits | null;
      /** Milliseconds since the epoch. */
      readonly nowMs: number;
    }
  /** The start was refused: the run never was. */
  | { readonly kind: 'not-started'; readonly run: string }
  /** A run asks, hands over, gives back, or tells its end. */
  | { readonly kind: 'report'; readonly report: BudgetReport }
  /** A run has ended, be it that it has told so itself. `used`: by itself, all in all; null: not known yet. */
  | { readonly kind: 'ended'; readonly run: string; readonly used: Amounts | null }
  /** The time of an owner is up. */
  | { readonly kind: 'elapsed'; readonly owner: string };

export function reduceBudgets(before: TreeBudgets, event: BudgetEvent): Outcome {
  const { state, effects } = take(before, event);
  const answered = answerQuestions(state);
  return { state: answered.state, effects: [...effects, ...answered.effects] };
}

function take(state: TreeBudgets, event: BudgetEvent): Outcome {
  switch (event.kind) {
    case 'root':
      return state.members[event.run] === undefined
        ? { state: withMember(state, event.run, newMember([event.run])), effects: [] }
        : { state, effects: [] };
    case 'added':
      return addRun(state, event);
    case 'not-started':
      return { state: removeRun(state, event.run), effects: [] };
    case 'report':
      return takeReport(state, event.report);
    case 'ended':
      return endRun(state, event.run, event.used);
    case 'elapsed':
      return exceedOwner(state, event.owner, 'seconds', null);
  }
}

function addRun(before: TreeBudgets, event: Extract<BudgetEvent, { kind: 'added' }>): Outcome {
  const { run, parent, limits, nowMs } = event;
  if (before.members[run] !== undefined) return { state: before, effects: [] };
  const above = before.members[parent]?.owners ?? [];
  const owners = limits === null ? above : [run, ...above];
  if (owners.length === 0) return { state: before, effects: [] };
  const member = newMember(owners);
  const opened = limits === null ? { state: before, effects: [] } : openOwner(before, run, limits, nowMs);
  const state = withMember(opened.state, run, member);
  const granted = grantable(state, member, noAmounts) ?? noAmounts;
  const first = grant(state, run, member, granted);
  return { state: first.state, effects: [...opened.effects, ...first.effects] };
}

function removeRun(before: TreeBudgets, run: string): TreeBudgets {
  const member = before.members[run];
  if (member === undefined) return before;
  const state = withMember(before, run, { ...member, granted: noAmounts });
  const { [run]: _member, ...members } = state.members;
  const { [run]: _owner, ...owners } = state.owners;
  return { ...state, members, owners };
}

/** Opens the ledger of a run that is already a member or becomes one; what is known of its subtree is booked. */
function openOwner(state: TreeBudgets, owner: string, limits: BudgetLimits, startedAtMs: number): Outcome {
  const ledger = Object.values(state.members)
    .filter((member) => member.owners.includes(owner))
    .reduce((open, member) => book(open, member.used, member.granted), openLedger(limits, startedAtMs));
  const { seconds } = limits;
  return {
    state: withOwner(state, owner, ledger),
    effects: seconds === undefined ? [] : [{ kind: 'arm', owner, atMs: startedAtMs + seconds * 1_000 }],
  };
}

function takeReport(before: TreeBudgets, report: BudgetReport): Outcome {
  const { run, own } = report;
  const member = before.members[run];
  if (member === undefined) return { state: before, effects: [] };
  const opened = own === null ? { state: before, effects: [] } : takeOwn(before, run, own);
  const isNews = member.state !== 'ended' && report.n > member.reports;
  const state = isNews ? bookReport(opened.state, member, report) : opened.state;
  if (own?.exceeded === undefined || own.exceeded === null) return { state, effects: opened.effects };
  const ended = exceedOwner(state, run, own.exceeded, null);
  return { state: ended.state, effects: [...opened.effects, ...ended.effects] };
}

/** The ledger of a root comes with the first of its reports that arrives. */
function takeOwn(state: TreeBudgets, run: string, own: OwnBudget): Outcome {
  return state.owners[run] === undefined
    ? openOwner(state, run, own.limits, own.startedAtMs)
    : { state, effects: [] };
}

function bookReport(state: TreeBudgets, member: Member, report: BudgetReport): TreeBudgets {
  const booked = withMember(state, report.run, reported(state, member, report));
  return { ...booked, questions: booked.questions + (report.need === null ? 0 : 1) };
}

function reported(state: TreeBudgets, member: Member, report: BudgetReport): Member {
  const { n, used, heldTokens, willReport, need, final } = report;
  const held = { tokens: heldTokens, toolCalls: 0 };
  const mayReturn = !final && heldTokens > 0 && !willReport;
  const known = { ...member, reports: n, used, question: null, mayReturn };
  if (final) return { ...known, granted: noAmounts, state: 'ended' };
  const isAsking = need !== null && member.state === 'live' && !isDoomed(state, member);
  return { ...known, granted: held, question: isAsking ? { need, order: state.questions } : null };
}

/** What a killed run had started and did not live to tell is not known; a report may have told more. */
function endRun(state: TreeBudgets, run: string, used: Amounts | null): Outcome {
  const member = state.members[run];
  if (member === undefined || member.state === 'ended') return { state, effects: [] };
  const ending: Member = { ...member, question: null, mayReturn: false, state: 'ending' };
  const ended: Member =
    used === null
      ? ending
      : {
          ...ending,
          used: mapAmounts((name) => Math.max(member.used[name], used[name])),
          granted: noAmounts,
          state: 'ended',
        };
  return { state: withMember(state, run, ended), effects: [] };
}

/** Why nothing can be started under `parent` any more; null: it can. */
export function budgetRefusal(state: TreeBudgets, parent: string): string | null {
  const owner = state.members[parent]?.owners.find(
    (candidate) => (state.owners[candidate]?.exceeded ?? null) !== null,
  );
  return owner === undefined ? null : `${reasonOf(state, owner)} (of ${owner})`;
}

/** The timers that a next workflow execution has to arm again. */
export function openDeadlines(state: TreeBudgets): Extract<BudgetEffect, { kind: 'arm' }>[] {
  return Object.entries(state.owners).flatMap(([owner, { limits, startedAtMs, exceeded }]) =>
    limits.seconds === undefined || exceeded !== null
      ? []
      : [{ kind: 'arm' as const, owner, atMs: startedAtMs + limits.seconds * 1_000 }],
  );
}

/** Owners whose time is up, be it that no timer has fired since the tree was at rest. */
export function dueOwners(state: TreeBudgets, nowMs: number): string[] {
  return openDeadlines(state).flatMap(({ owner, atMs }) => (atMs <= nowMs ? [owner] : []));
}
