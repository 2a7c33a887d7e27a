import { describe, expect, it } from 'vitest';
import type { Handle } from '../../../contracts/ids.ts';
import { runInputSchema } from '../../../contracts/run.ts';
import {
  ask,
  closeAccount,
  exceededIn,
  exceed,
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
  tellExceeded,
  viewAccount,
} from '../../../workflows/budget/account.ts';
import type { BudgetAccount } from '../../../workflows/budget/account.ts';
import { continuationOf, readContinuation } from '../../../workflows/continuation.ts';
import { startRun } from '../../../workflows/run-state.ts';

function lone(limits: Parameters<typeof openAccount>[1]): BudgetAccount {
  const account = openAccount('r', limits, null, 1_000);
  if (account === null) throw new Error('no account');
  return account;
}

function child(tokens: number | null, toolCalls: number | null): BudgetAccount {
  const account = openAccount('r', null, { tokens, toolCalls }, 1_000);
  if (account === null) throw new Error('no account');
  return account;
}

const turn = (tokens: number) => ({ tokens, toolCalls: 0 });
const reply = (promptTokens: number, completionTokens: number) => ({ promptTokens, completionTokens });

describe('the account of a run', () => {
  it('is not kept when no budget binds the run', () => {
    expect(openAccount('r', null, null, 0)).toBeNull();
  });

  it('reserves before a turn and counts what the reply reports', () => {
    const before = lone({ tokens: 1_000 });
    expect(shortOf(before, turn(1_000))).toEqual([]);
    expect(shortOf(before, turn(1_001))).toEqual(['tokens']);
    const running = take(before, turn(900));
    expect(shortOf(running, turn(101))).toEqual(['tokens']);
    const settled = settleTurn(running, reply(100, 20), 500);
    expect(settled).toMatchObject({
      used: { tokens: 120 },
      reservedTokens: 0,
      measured: { bytes: 500, tokens: 100 },
    });
    expect(shortOf(settled, turn(880))).toEqual([]);
  });

  it('counts the whole reservation of a reply that reports nothing', () => {
    expect(settleTurn(take(lone({ tokens: 1_000 }), turn(300)), reply(0, 0), 5)).toMatchObject({
      used: { tokens: 300 },
      measured: null,
    });
  });

  it('lets nothing more begin once a reply has gone beyond the limit, tool calls neither', () => {
    const over = settleTurn(take(lone({ tokens: 100, toolCalls: 5 }), turn(100)), reply(100, 50), 5);
    expect(shortOf(over, { tokens: 0, toolCalls: 1 })).toEqual(['tokens']);
    expect(tellExceeded(exceed(over, 'tokens'), { tokens: 0, toolCalls: 1 })).toBe(
      'budget exceeded: tokens 150/100',
    );
  });

  it('has spent tool calls when they begin', () => {
    expect(take(lone({ toolCalls: 3 }), { tokens: 0, toolCalls: 2 }).used.toolCalls).toBe(2);
  });

  it('is told with its limits, its use and what has ended it', () => {
    const account = exceed(take(lone({ toolCalls: 3, seconds: 9 }), { tokens: 0, toolCalls: 2 }), 'seconds');
    expect(viewAccount(account, 10_500)).toEqual({
      limits: { toolCalls: 3, seconds: 9 },
      used: { tokens: 0, toolCalls: 2, seconds: 9 },
      exceeded: 'seconds',
      isShared: false,
    });
    expect(viewAccount(child(1, 1), 0)).toBeNull();
    expect(tellExceeded(account, null)).toBe('budget exceeded: seconds 9/9');
  });

  it('knows by the reason of a cancel whether a budget of its own ended the run', () => {
    const account = lone({ tokens: 10 });
    expect(exceededIn(account, 'budget exceeded: tokens 12/10')).toBe('tokens');
    expect(exceededIn(account, 'cancelled with its parent r0: budget exceeded: tokens 12/10')).toBeNull();
    expect(exceededIn(child(1, 1), 'budget exceeded: tokens 12/10')).toBeNull();
  });
});

describe('the account of a run that continues as new', () => {
  it('goes along as it is: spent, reserved, granted and asked', () => {
    const handle = 'run_0123456789abcdefghij01' as Handle;
    const input = runInputSchema.parse({
      task: 'look',
      caller: 'ann',
      budget: { tokens: 5_000, seconds: 60 },
      allowance: { tokens: 900, toolCalls: null },
    });
    const begun = startRun(handle, input, 1_000);
    const account = openAccount(handle, input.budget ?? null, input.allowance ?? null, 1_000);
    expect(begun.budget).toEqual(account);
    const used = settleTurn(take(account ?? child(0, 0), turn(100)), reply(60, 10), 50);
    const state = { ...begun, budget: giveBack(used).account };
    const continued = readContinuation(JSON.parse(JSON.stringify(continuationOf(state))), handle);
    expect(continued).toMatchObject({ kind: 'ok', state: { budget: state.budget, startedAtMs: 1_000 } });
  });
});

describe('the account of a run in a tree', () => {
  it('asks when its allowance is used up, and hands the rest back with the question', () => {
    const { account, report } = ask(child(100, 2), turn(150));
    expect(report).toMatchObject({ n: 1, need: { tokens: 150 }, heldTokens: 0, used: { tokens: 0 } });
    expect(isAsking(account)).toBe(true);
    expect(account.ceiling).toEqual({ tokens: 0, toolCalls: 0 });
    const granted = takeGrant(account, { n: 1, granted: { tokens: 200, toolCalls: 1 } });
    expect(granted).toMatchObject({ reservedTokens: 150, ceiling: { tokens: 200, toolCalls: 1 } });
    expect(isAsking(granted)).toBe(false);
  });

  it('takes a grant once, and none that answers another question', () => {
    const { account } = ask(child(0, null), turn(10));
    expect(takeGrant(account, { n: 0, granted: { tokens: 50, toolCalls: null } })).toBe(account);
    const granted = takeGrant(account, { n: 1, granted: { tokens: 50, toolCalls: null } });
    expect(takeGrant(granted, { n: 1, granted: { tokens: 50, toolCalls: null } })).toBe(granted);
  });

  it('keeps what its turn has reserved when others need the rest, and gives the last of it after the turn', () => {
    const { account, report } = takeRecall(take(child(500, null), turn(100)), { n: 0 });
    expect(report).toMatchObject({ n: 1, heldTokens: 100, willReport: true, need: null });
    expect(shortOf(account, turn(1))).toEqual(['tokens']);
    const after = giveBackRecalled(settleTurn(account, reply(30, 10), 5));
    expect(after.report).toMatchObject({ n: 2, heldTokens: 0, willReport: false, used: { tokens: 40 } });
    expect(giveBackRecalled(after.account).report).toBeNull();
  });

  it('answers a recall that overtook its grant after it has taken what it asked for', () => {
    const asked = takeRecall(ask(child(0, null), turn(10)).account, { n: 1 });
    expect(asked.report).toBeNull();
    const granted = takeGrant(asked.account, { n: 1, granted: { tokens: 50, toolCalls: null } });
    const { report } = giveBackRecalled(granted);
    expect(report).toMatchObject({ n: 2, heldTokens: 10, willReport: true });
  });

  it('answers no recall of an older grant', () => {
    const { account } = giveBack(child(500, null));
    expect(takeRecall(account, { n: 0 }).report).toBeNull();
  });

  it('gives back while it waits for its user, and only when it holds something', () => {
    expect(giveBack(child(500, 3)).report).toMatchObject({ heldTokens: 0, need: null });
    expect(giveBack(child(0, null)).report).toBeNull();
    expect(giveBack(lone({ tokens: 5 })).report).toBeNull();
  });

  it('hands its ledger over with what is spent and reserved, and is asked by the tree from then on', () => {
    const running = take(settleTurn(take(lone({ tokens: 1_000 }), turn(90)), reply(60, 10), 5), turn(200));
    const { account, report } = handOver(running);
    expect(report).toMatchObject({
      n: 1,
      used: { tokens: 70 },
      heldTokens: 200,
      own: { limits: { tokens: 1_000 }, startedAtMs: 1_000, exceeded: null },
    });
    expect(shortOf(settleTurn(account, reply(100, 20), 9), turn(81))).toEqual(['tokens']);
  });

  it('closes with a last report, in which nothing is held', () => {
    const { report } = closeAccount(take(child(100, null), turn(50)));
    expect(report).toMatchObject({ final: true, heldTokens: 0, used: { tokens: 0 } });
    expect(closeAccount(lone({ tokens: 1 })).report).toBeNull();
  });
});
