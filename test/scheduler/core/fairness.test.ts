/** Rule 5, `tokens`: callers are compared by the tokens they were served. */
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../contracts/ids.ts';
import { replica, Scenario, type TurnFields } from './scenario.ts';

const tokens = (size: number, caller: string, fields: TurnFields = {}): TurnFields => ({
  promptTokens: size,
  maxTokens: 0,
  caller,
  ...fields,
});

/** One place, taken by a turn of a caller of no interest. */
function blocked(callers: Record<string, { weight: number }> = {}): Scenario {
  const scenario = new Scenario(
    [replica('a', { maxConcurrent: 1 })],
    { fairness: 'tokens', batchShare: 0 },
    callers,
  );
  scenario.arrive('blocker', tokens(0, 'nobody'));
  return scenario;
}

const served = (scenario: Scenario, caller: string): number | undefined =>
  scenario.state.callers.get(caller as Caller)?.servedTokens;

/** Ends what is in flight, each as it was estimated, until so many turns went; their callers in order. */
function callersServed(scenario: Scenario, count: number): string[] {
  const order: string[] = [];
  while (order.length < count) {
    const running = [...scenario.state.turns.values()].find((turn) => turn.replica !== null);
    if (running === undefined) return order;
    scenario.finish(running.spec.turn, 'done', 'p', { usage: [running.spec.promptTokens, 0] });
    const next = [...scenario.state.turns.values()].find((turn) => turn.replica !== null);
    if (next !== undefined) order.push(next.spec.caller);
  }
  return order;
}

describe('the caller that was served the fewest tokens goes first', () => {
  it('so that one with turns ten times as large gets a tenth as many', () => {
    const scenario = blocked();
    for (let turn = 0; turn < 30; turn += 1) {
      scenario.arrive(`large${turn}`, tokens(1_000, 'large'));
      scenario.arrive(`small${turn}`, tokens(100, 'small'));
    }
    const order = callersServed(scenario, 22);
    expect(order.filter((caller) => caller === 'large')).toHaveLength(2);
  });

  it('by weight', () => {
    const scenario = blocked({ heavy: { weight: 3 } });
    for (let turn = 0; turn < 30; turn += 1) {
      scenario.arrive(`h${turn}`, tokens(100, 'heavy'));
      scenario.arrive(`l${turn}`, tokens(100, 'light'));
    }
    expect(callersServed(scenario, 20).filter((caller) => caller === 'heavy')).toHaveLength(15);
  });

  it('also when the policy changes while they wait', () => {
    const scenario = blocked();
    scenario.arrive('a1', tokens(5_000, 'a'));
    scenario.finish('blocker');
    scenario.arrive('a2', tokens(100, 'a'));
    scenario.arrive('b1', tokens(100, 'b', { class: 'batch' }));
    scenario.arrive('b2', tokens(100, 'b'));
    scenario.send({
      type: 'poolChanged',
      replicas: [replica('a', { maxConcurrent: 1 })],
      policy: { ...scenario.state.policy, fairness: 'inflight' },
    });
    expect(scenario.finish('a1', 'done')).toEqual(['a2@a']);
  });
});

describe('a turn costs its caller', () => {
  it.each([
    ['its prompt once and its output twice', { usage: [1_000, 50] as const }, 1_100],
    ['a tenth for what was cached', { usage: [1_000, 50] as const, cachedTokens: 600 }, 560],
    ['the estimate when nothing is told', {}, 900],
  ])('%s', (_name, report, cost) => {
    const scenario = blocked();
    scenario.arrive('keeps', tokens(10, 'x'));
    scenario.arrive('waits', tokens(900, 'x'));
    scenario.finish('blocker');
    const before = served(scenario, 'x') ?? 0;
    expect(before).toBe(10);
    scenario.finish('keeps', 'done', 'p', { usage: [10, 0] });
    scenario.arrive('stays', tokens(1, 'x'));
    scenario.finish('waits', 'done', 'p', report);
    expect(served(scenario, 'x')).toBeCloseTo(10 + cost + 1, 1);
  });

  it.each(['failed', 'refused'] as const)('nothing when it %s before its first byte', (outcome) => {
    const scenario = blocked();
    scenario.arrive('t', tokens(900, 'x'));
    scenario.arrive('stays', tokens(1, 'x'));
    scenario.finish('blocker');
    scenario.finish('t', outcome);
    expect(served(scenario, 'x')).toBe(1);
  });
});

describe('a caller that comes back from idleness', () => {
  it('is lifted to the smallest counter of those who wait', () => {
    const scenario = blocked();
    scenario.arrive('a1', tokens(4_000, 'a'));
    scenario.finish('blocker');
    scenario.arrive('a2', tokens(100, 'a'));
    scenario.arrive('new', tokens(100, 'late'));
    expect(served(scenario, 'late')).toBe(4_000);
  });

  it('keeps what it was served before, so that leaving for a moment gains nothing', () => {
    const scenario = blocked();
    scenario.arrive('a1', tokens(4_000, 'a'));
    scenario.finish('blocker');
    scenario.finish('a1', 'done', 'p', { usage: [4_000, 0] });
    expect(served(scenario, 'a')).toBeUndefined();
    scenario.arrive('b1', tokens(100, 'b'));
    scenario.arrive('b2', tokens(100, 'b'));
    scenario.arrive('a2', tokens(100, 'a'));
    expect(served(scenario, 'a')).toBe(4_000);
    expect(scenario.finish('b1', 'done', 'p', { usage: [100, 0] })).toEqual(['b2@a']);
  });

  it('leaves no place empty: alone, it goes whatever its counter', () => {
    const scenario = blocked();
    scenario.finish('blocker');
    expect(scenario.arrive('1', tokens(50_000, 'a'))).toEqual(['1@a']);
    expect(scenario.finish('1', 'done')).toEqual([]);
    expect(scenario.arrive('2', tokens(50_000, 'a'))).toEqual(['2@a']);
  });
});
