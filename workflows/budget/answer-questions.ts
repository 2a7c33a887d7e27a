/**
 * Answers the open questions of a tree, oldest first: whoever's need is there gets it, and with it a
 * share of what remains; who must wait makes the others give back what they hold and do not need; when
 * nobody else holds anything, the ledger is exceeded. Pure.
 */
import type { BudgetName } from '../../contracts/run-names.ts';
import { exceededText } from './account.ts';
import { mapBounds, noAmounts, plus, pooledNames } from './amounts.ts';
import type { Amounts, Bounds } from './amounts.ts';
import { markExceeded, overspent, remainder } from './owner-ledger.ts';
import { isDoomed, liveUnder, otherHolders, withMember, withOwner } from './tree-state.ts';
import type { BudgetEffect, Member, Outcome, TreeBudgets } from './tree-state.ts';

/** Of what remains, this part is shared over the live runs; the rest is kept for who asks again. */
const sharedPart = 1 / 2;

export function answerQuestions(before: TreeBudgets): Outcome {
  let state = before;
  const effects: BudgetEffect[] = [];
  const apply = (outcome: Outcome): void => {
    ({ state } = outcome);
    effects.push(...outcome.effects);
  };
  for (const [owner, ledger] of Object.entries(before.owners)) {
    const name = ledger.exceeded === null ? overspent(ledger) : null;
    if (name !== null) apply(exceedOwner(state, owner, name, null));
  }
  // All that fits first: what one gives up by waiting, a smaller question may still get.
  for (const run of asking(state)) apply(grantIfThere(state, run));
  for (const run of asking(state)) apply(waitOrExceed(state, run));
  return { state, effects };
}

function asking(state: TreeBudgets): string[] {
  return Object.entries(state.members)
    .flatMap(([run, { question }]) => (question === null ? [] : [{ run, order: question.order }]))
    .toSorted((a, b) => a.order - b.order)
    .map(({ run }) => run);
}

function grantIfThere(state: TreeBudgets, run: string): Outcome {
  const member = state.members[run];
  if (member === undefined || member.question === null) return { state, effects: [] };
  if (isDoomed(state, member)) {
    return { state: withMember(state, run, { ...member, question: null }), effects: [] };
  }
  const granted = grantable(state, member, member.question.need);
  return granted === null ? { state, effects: [] } : grant(state, run, member, granted);
}

/** Books a grant and sends it. */
export function grant(state: TreeBudgets, run: string, member: Member, granted: Bounds): Outcome {
  const amounts: Amounts = { tokens: granted.tokens ?? 0, toolCalls: granted.toolCalls ?? 0 };
  const next = { ...member, granted: plus(member.granted, amounts), question: null, mayReturn: true };
  return {
    state: withMember(state, run, next),
    effects: [{ kind: 'grant', run, grant: { n: member.reports, granted } }],
  };
}

/**
 * What a run gets that needs `need`: that, or its share where it is more. null: the need is not there.
 * While a ledger of the path is missing only nothing can be granted, and everything counts as limited.
 */
export function grantable(state: TreeBudgets, { owners }: Member, need: Amounts): Bounds | null {
  const ledgers = owners.flatMap((owner) => {
    const ledger = state.owners[owner];
    return ledger === undefined ? [] : [{ ledger, live: Math.max(1, liveUnder(state, owner)) }];
  });
  if (ledgers.length < owners.length) {
    return pooledNames.every((name) => need[name] === 0) ? noAmounts : null;
  }
  let isThere = true;
  const granted = mapBounds((name) => {
    const parts = ledgers.flatMap(({ ledger, live }) => {
      const left = remainder(ledger, name);
      return left === null ? [] : [{ left, share: Math.floor((Math.max(0, left) * sharedPart) / live) }];
    });
    if (parts.length === 0) return null;
    const left = Math.min(...parts.map((part) => part.left));
    if (need[name] > 0 && left < need[name]) isThere = false;
    return Math.max(need[name], Math.min(...parts.map((part) => part.share)));
  });
  return isThere ? granted : null;
}

function waitOrExceed(state: TreeBudgets, run: string): Outcome {
  const member = state.members[run];
  if (member === undefined || member.question === null) return { state, effects: [] };
  const { need } = member.question;
  const holders = new Set<string>();
  for (const owner of member.owners) {
    const ledger = state.owners[owner];
    // It has been asked for its ledger, and will hand it over or have ended.
    if (ledger === undefined) continue;
    for (const name of pooledNames) {
      const left = remainder(ledger, name);
      if (left === null || need[name] === 0 || left >= need[name]) continue;
      const others = otherHolders(state, owner, name, run);
      if (others.length === 0) return exceedOwner(state, owner, name, need[name]);
      others.forEach((other) => holders.add(other));
    }
  }
  return [...holders].reduce<Outcome>(
    (outcome, holder) => {
      const recalled = recall(outcome.state, holder);
      return { state: recalled.state, effects: [...outcome.effects, ...recalled.effects] };
    },
    { state, effects: [] },
  );
}

function recall(state: TreeBudgets, run: string): Outcome {
  const member = state.members[run];
  if (member === undefined || !member.mayReturn) return { state, effects: [] };
  return {
    state: withMember(state, run, { ...member, mayReturn: false }),
    effects: [{ kind: 'recall', run, recall: { n: member.reports } }],
  };
}

/** Ends the budget of `owner`; nobody below it is answered any more. */
export function exceedOwner(state: TreeBudgets, owner: string, name: BudgetName, need: PooledNeed): Outcome {
  const ledger = state.owners[owner];
  if (ledger === undefined || ledger.exceeded !== null) return { state, effects: [] };
  let next = withOwner(state, owner, markExceeded(ledger, name));
  for (const [run, member] of Object.entries(next.members)) {
    if (member.question === null || !member.owners.includes(owner)) continue;
    next = withMember(next, run, { ...member, question: null });
  }
  return { state: next, effects: [{ kind: 'exceeded', owner, name, reason: reasonOf(next, owner, need) }] };
}

/** null: the limit itself was passed. */
type PooledNeed = number | null;

/** Why the subtree of an owner with an exceeded budget ended: name, used, limit. */
export function reasonOf(state: TreeBudgets, owner: string, need: PooledNeed = null): string {
  const ledger = state.owners[owner];
  const name = ledger?.exceeded ?? null;
  if (ledger === undefined || name === null) return 'budget exceeded';
  const limit = ledger.limits[name] ?? 0;
  return exceededText(name, name === 'seconds' ? limit : ledger.used[name], limit, need);
}
