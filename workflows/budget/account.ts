/**
 * The budget of one run, as the run itself keeps it: what it has spent, what its running turn has
 * reserved, and how far both may go. Alone, its own limits are the ceiling; in a tree the ceiling is
 * what the tree has granted so far, and it asks the tree for more. Pure.
 *
 * Tokens are reserved before a turn and settled by what the reply reports; a turn that is broken off
 * reports none. Tool calls are spent when their round begins: a started call has been used, and a run
 * that waits inside a call for a run below it holds nothing that the other may need.
 */
import { budgetNames } from '../../contracts/run-names.ts';
import type { BudgetName } from '../../contracts/run-names.ts';
import type { BudgetLimits, RunBudget } from '../../contracts/run.ts';
import { beyond, mapBounds, noAmounts, plus } from './amounts.ts';
import type { Amounts, Bounds, PooledName } from './amounts.ts';
import type { BudgetGrant, BudgetRecall, BudgetReport } from './messages.ts';
import type { MeasuredPrompt } from './prompt-estimate.ts';

export interface BudgetAccount {
  readonly run: string;
  /** Its own limits; null: only those above it bind it. */
  readonly limits: BudgetLimits | null;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** By this run alone. */
  readonly used: Amounts;
  /** For the turn that runs now. */
  readonly reservedTokens: number;
  /** How far `used` and what is reserved may go together. */
  readonly ceiling: Bounds;
  readonly measured: MeasuredPrompt | null;
  readonly exceeded: BudgetName | null;
  /** null: it keeps its own ledger. */
  readonly link: TreeLink | null;
}

interface TreeLink {
  /** Reports sent so far. */
  readonly reports: number;
  /** What the last report asked for and is not answered yet. */
  readonly asked: Amounts | null;
  /** Others wait for what it holds: after its turn, or the turn it has asked for, it gives the rest back. */
  readonly recalled: boolean;
}

/** An account after a step, with what is to be told to the tree. */
export interface Reported {
  readonly account: BudgetAccount;
  readonly report: BudgetReport | null;
}

/** @param allowance what the tree gave it to start with; null: it has no tree, or nothing there binds it. */
export function openAccount(
  run: string,
  limits: BudgetLimits | null,
  allowance: Bounds | null,
  startedAtMs: number,
): BudgetAccount | null {
  if (limits === null && allowance === null) return null;
  return {
    run,
    limits,
    startedAtMs,
    used: noAmounts,
    reservedTokens: 0,
    ceiling: allowance ?? mapBounds((name) => limits?.[name] ?? null),
    measured: null,
    exceeded: null,
    link: allowance === null ? null : { reports: 0, asked: null, recalled: false },
  };
}

/** Spent and reserved. */
function taken({ used, reservedTokens }: BudgetAccount): Amounts {
  return plus(used, { tokens: reservedTokens, toolCalls: 0 });
}

/** In what `need` does not fit, or what a reply has gone beyond already; empty: it fits. */
export function shortOf(account: BudgetAccount, need: Amounts): PooledName[] {
  return beyond(plus(taken(account), need), account.ceiling);
}

/** Reserves the tokens of `need` for a turn and spends its tool calls. It must fit. */
export function take(account: BudgetAccount, need: Amounts): BudgetAccount {
  return {
    ...account,
    reservedTokens: account.reservedTokens + need.tokens,
    used: plus(account.used, { tokens: 0, toolCalls: need.toolCalls }),
  };
}

/**
 * A turn has ended. What the reply reports counts, be it more than was reserved, and the rest is free
 * again; of a reply that reports nothing, all that was reserved counts.
 */
export function settleTurn(
  account: BudgetAccount,
  { promptTokens, completionTokens }: { readonly promptTokens: number; readonly completionTokens: number },
  transcriptBytes: number,
): BudgetAccount {
  const isCounted = promptTokens > 0;
  const tokens = isCounted ? promptTokens + completionTokens : account.reservedTokens;
  return {
    ...account,
    reservedTokens: 0,
    used: plus(account.used, { tokens, toolCalls: 0 }),
    measured: isCounted ? { bytes: transcriptBytes, tokens: promptTokens } : account.measured,
  };
}

export function exceed(account: BudgetAccount, name: BudgetName): BudgetAccount {
  return { ...account, exceeded: account.exceeded ?? name };
}

/** A report of how the account stands; what is neither spent nor reserved goes back with it. */
function report(account: BudgetAccount, need: Amounts | null, final: boolean): Reported {
  const { link, used, reservedTokens, limits, startedAtMs, exceeded } = account;
  const n = (link?.reports ?? 0) + 1;
  const now = taken(account);
  const recalled = link?.recalled === true && reservedTokens > 0;
  return {
    account: {
      ...account,
      ceiling: mapBounds((name) => (account.ceiling[name] === null ? null : now[name])),
      link: { reports: n, asked: need, recalled },
    },
    report: {
      run: account.run,
      n,
      used,
      heldTokens: reservedTokens,
      willReport: recalled,
      need,
      final,
      own: limits === null ? null : { limits, startedAtMs, exceeded },
    },
  };
}

/** Asks the tree for `need` and hands back the unspent rest with the question. */
export function ask(account: BudgetAccount, need: Amounts): Reported {
  return report(account, need, false);
}

/** Gives back what is not needed as long as the run does nothing. */
export function giveBack(account: BudgetAccount): Reported {
  const { link } = account;
  if (link === null || link.asked !== null || !hasRest(account)) return { account, report: null };
  return report(account, null, false);
}

function hasRest(account: BudgetAccount): boolean {
  const now = taken(account);
  const { tokens, toolCalls } = account.ceiling;
  return (tokens !== null && tokens > now.tokens) || (toolCalls !== null && toolCalls > now.toolCalls);
}

/** The last report of a run that ends; none when no tree knows of it. */
export function closeAccount(account: BudgetAccount): Reported {
  const ended = { ...account, reservedTokens: 0 };
  return account.link === null ? { account: ended, report: null } : report(ended, null, true);
}

/** The tree takes the ledger over: what the run has spent and reserved is all that it keeps. */
export function handOver(account: BudgetAccount): Reported {
  if (isAsking(account)) return { account, report: null };
  return report(account, null, false);
}

/** Whether a question is open. */
export function isAsking({ link }: BudgetAccount): boolean {
  return link !== null && link.asked !== null;
}

/**
 * A grant that answers the open question counts, and what was asked for is taken at once, so that no
 * recall gets in between; any other grant is an old one.
 */
export function takeGrant(account: BudgetAccount, { n, granted }: BudgetGrant): BudgetAccount {
  const { link } = account;
  if (link === null || link.asked === null || link.reports !== n) return account;
  const now = taken(account);
  const ceiling = mapBounds((name) => {
    const more = granted[name];
    return more === null ? null : now[name] + more;
  });
  return take({ ...account, ceiling, link: { ...link, asked: null } }, link.asked);
}

/**
 * Answers a recall, be there something to give back or not: the tree waits to know. A question that is
 * open is answered first, since the recall may have overtaken its grant.
 */
export function takeRecall(account: BudgetAccount, { n }: BudgetRecall): Reported {
  const { link } = account;
  if (link === null || n < link.reports) return { account, report: null };
  const recalled = { ...account, link: { ...link, recalled: true } };
  return link.asked === null ? report(recalled, null, false) : { account: recalled, report: null };
}

/** After a grant was taken, and after a turn: what is left goes back when others wait for it. */
export function giveBackRecalled(account: BudgetAccount): Reported {
  const { link } = account;
  if (link === null || !link.recalled || link.asked !== null) return { account, report: null };
  return report(account, null, false);
}

/** Whole seconds since the start of the run. */
function secondsUsed({ startedAtMs }: BudgetAccount, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - startedAtMs) / 1_000));
}

/** As readers see it; null when the run has no budget of its own. Of a run in a tree: its own part only. */
export function viewAccount(account: BudgetAccount | null, nowMs: number): RunBudget | null {
  if (account?.limits === undefined || account.limits === null) return null;
  const { limits, used, exceeded, link } = account;
  const seconds = secondsUsed(account, nowMs);
  return { limits, used: { ...used, seconds }, exceeded, isShared: link !== null };
}

/** Why a run without a tree has ended: `budget exceeded: tokens 9800/10000`, and what it would have needed. */
export function tellExceeded({ exceeded: name, limits, used }: BudgetAccount, need: Amounts | null): string {
  if (name === null) return 'budget exceeded';
  const limit = limits?.[name] ?? 0;
  return name === 'seconds'
    ? exceededText(name, limit, limit, null)
    : exceededText(name, used[name], limit, need?.[name] ?? null);
}

const exceededWords = 'budget exceeded:';

/** @param need null: nothing was asked for; the limit was passed. */
export function exceededText(name: BudgetName, used: number, limit: number, need: number | null): string {
  const left = limit - used;
  const wants = name === 'toolCalls' ? 'the next round needs' : 'the next turn may take';
  const next = need === null || left < 0 ? '' : ` (${wants} ${need}; ${left} left)`;
  return `${exceededWords} ${name} ${used}/${limit}${next}`;
}

/** The limit of its own that ended the run for this reason; null: it ended otherwise. */
export function exceededIn({ limits }: BudgetAccount, reason: string): BudgetName | null {
  if (limits === null) return null;
  return budgetNames.find((name) => reason.startsWith(`${exceededWords} ${name} `)) ?? null;
}
