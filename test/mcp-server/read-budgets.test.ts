import { describe, expect, it } from 'vitest';
import type { Handle } from '../../contracts/ids.ts';
import { zeroCounters, type RunBudget } from '../../contracts/run.ts';
import { treeStateSchema } from '../../contracts/run-tree.ts';
import { budgetLines, structuredBudget } from '../../mcp-server/mcp/budget-text.ts';
import { currentBudget, withSeen } from '../../mcp-server/runs/read-budgets.ts';
import type { RunView } from '../../mcp-server/runs/run-view.ts';

const root = 'run_0123456789abcdefghij01' as Handle;
const child = 'run_0123456789abcdefghij02';
const budget: RunBudget = {
  limits: { tokens: 1_000, seconds: 60 },
  used: { tokens: 200, toolCalls: 1, seconds: 5 },
  exceeded: null,
  isShared: true,
};

function run(over: Partial<RunView> = {}): RunView {
  return {
    handle: root,
    status: 'Running',
    phase: 'model turn 3',
    summary: 's',
    model: null,
    class: null,
    caller: null,
    root,
    parent: null,
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: null,
    result: null,
    cutAtMaxTokens: false,
    reason: null,
    partial: null,
    counters: zeroCounters,
    pendingApprovals: [],
    decidedApprovals: [],
    budget,
    ...over,
  };
}

function tree(used: number, exceeded: RunBudget['exceeded'], state: 'live' | 'ended' = 'live') {
  const none = { tokens: 0, toolCalls: 0 };
  return treeStateSchema.parse({
    root,
    runs: {},
    budgets: {
      owners: {
        [root]: {
          limits: budget.limits,
          startedAtMs: Date.parse('2026-01-01T00:00:00.000Z'),
          used: { tokens: used, toolCalls: 4 },
          granted: none,
          exceeded,
        },
      },
      members: {
        [child]: {
          owners: [root],
          reports: 1,
          used: none,
          granted: none,
          question: null,
          mayReturn: false,
          state,
        },
      },
      questions: 0,
    },
  });
}

const at = (seconds: number): number => Date.parse('2026-01-01T00:00:00.000Z') + seconds * 1_000;

describe('the budget of a run as it stands now', () => {
  it('is that of the whole tree, as its ledger has it', () => {
    expect(currentBudget(run(), tree(700, 'tokens'), at(9))).toEqual({
      ...budget,
      used: { tokens: 700, toolCalls: 4, seconds: 9 },
      exceeded: 'tokens',
    });
  });

  it('is what the memo tells when nobody answers, with the time that has passed since', () => {
    expect(currentBudget(run(), null, at(30))).toEqual({ ...budget, used: { ...budget.used, seconds: 30 } });
  });

  it('counts the seconds of a run that has ended for as long as something below it is at work', () => {
    const ended = run({ status: 'Completed', budget: { ...budget, isShared: false } });
    expect(currentBudget(ended, tree(0, null), at(30))).toMatchObject({
      used: { seconds: 30 },
      isShared: true,
    });
    expect(currentBudget(ended, tree(0, null, 'ended'), at(30))).toMatchObject({ used: { seconds: 5 } });
    expect(currentBudget(ended, null, at(30))).toMatchObject({ used: { seconds: 5 }, isShared: false });
  });

  it('counts what runs below are seen to have used before their tree is told', () => {
    const counters = { ...zeroCounters, promptTokens: 800, completionTokens: 50, toolCalls: 3 };
    expect(withSeen(budget, { counters })?.used).toEqual({ tokens: 850, toolCalls: 3, seconds: 5 });
    expect(withSeen({ ...budget, isShared: false }, { counters })?.used).toEqual(budget.used);
    expect(withSeen(null, { counters })).toBeNull();
  });
});

describe('a budget in words', () => {
  it('names what is limited, what is used of it and by whom, and what has ended it', () => {
    expect(budgetLines({ ...budget, exceeded: 'tokens' })).toEqual([
      'budget: 200 of 1000 tokens, 5 of 60 seconds used by it and all below it; exceeded: tokens',
    ]);
    expect(budgetLines({ ...budget, isShared: false })).toEqual([
      'budget: 200 of 1000 tokens, 5 of 60 seconds used',
    ]);
    expect(budgetLines(null)).toEqual([]);
  });

  it('is structured as limits, use and end', () => {
    const { limits, used, exceeded } = budget;
    expect(structuredBudget(budget)).toEqual({ budget: { limits, used, exceeded } });
    expect(structuredBudget(null)).toEqual({});
  });
});
