import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { caseFile } from '../../case-file.ts';
import { rootHandle, SimulatedTree } from './simulated-tree.ts';
import type { SimulatedRun } from './simulated-tree.ts';

const d12 = caseFile('D12');
const given = z
  .object({
    budget: z.number(),
    requests: z.array(
      z.object({ t_ms: z.number(), id: z.string(), estimate: z.number(), actual: z.number() }),
    ),
  })
  .parse(d12.given);
const expected = z
  .object({
    admitted_max: z.number(),
    spent_max: z.number(),
    refused_body_type: z.string(),
  })
  .parse(d12.expect);

interface Turn {
  readonly estimate: number;
  readonly actual: number;
}

interface Played {
  readonly tree: SimulatedTree;
  readonly children: readonly SimulatedRun[];
  /** Turns that were let through. */
  readonly admitted: number;
  readonly spent: number;
}

/**
 * One run for each turn, all side by side under a run with the budget; each wants its turn at once. The
 * case counts in money; here one thousandth of it is a token.
 * @param pickOf which of so many messages is delivered next.
 */
function playAtOnce(budget: number, turns: readonly Turn[], pickOf: (count: number) => number): Played {
  const tree = new SimulatedTree({ tokens: budget });
  for (const _ of turns) tree.spawn(rootHandle, null);
  const children = [...tree.runs.values()].filter((run) => run.parent !== null);
  const deliverAll = (): void => {
    while (tree.heap.length > 0) tree.deliver(pickOf(tree.heap.length), false);
  };
  deliverAll();
  children.forEach((run, index) => tree.want(run, { tokens: turns[index]?.estimate ?? 0, toolCalls: 0 }));
  let admitted = 0;
  for (;;) {
    deliverAll();
    const running = children.filter((run) => run.doing === 'turn');
    if (running.length === 0) break;
    admitted += running.length;
    for (const run of running) {
      tree.finish(run, turns[children.indexOf(run)]?.actual ?? 0);
      tree.end(run);
    }
  }
  return { tree, children, admitted, spent: children.reduce((total, run) => total + run.spent.tokens, 0) };
}

const inTokens = (amount: number): number => Math.round(amount * 1_000);

describe(`${d12.id} ${d12.title}`, { timeout: 60_000 }, () => {
  it('lets as many turns through at once as the budget holds, and ends the others with its reason', () => {
    const turns = given.requests.map(({ estimate, actual }) => ({
      estimate: inTokens(estimate),
      actual: inTokens(actual),
    }));
    const { tree, children, admitted, spent } = playAtOnce(inTokens(given.budget), turns, () => 0);
    expect(admitted).toBe(expected.admitted_max);
    expect(spent).toBeLessThanOrEqual(inTokens(expected.spent_max));
    expect(children.filter((run) => run.spent.tokens === 0)).toHaveLength(turns.length - admitted);
    expect(expected.refused_body_type).toContain('budget_exceeded');
    expect(tree.exceeded).toMatchObject([
      {
        owner: rootHandle,
        name: 'tokens',
        reason: expect.stringMatching(/^budget exceeded: tokens 900\/1000/),
      },
    ]);
  });

  it('does so for every number of turns at once, every size and every order of messages', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5_000 }),
        fc.array(
          fc.record({ estimate: fc.integer({ min: 1, max: 2_000 }), part: fc.integer({ min: 1, max: 100 }) }),
          { minLength: 2, maxLength: 12 },
        ),
        fc.array(fc.nat(), { minLength: 1, maxLength: 60 }),
        (budget, sizes, picks) => {
          const turns = sizes.map(({ estimate, part }) => ({
            estimate,
            actual: Math.max(1, Math.floor((estimate * part) / 100)),
          }));
          let step = 0;
          const { admitted, spent, tree } = playAtOnce(budget, turns, (count) => {
            step += 1;
            return (picks[step % picks.length] ?? 0) % count;
          });
          expect(spent).toBeLessThanOrEqual(budget);
          // Nobody is kept out while there is room for all.
          const wanted = turns.reduce((total, { estimate }) => total + estimate, 0);
          expect(wanted > budget || admitted === turns.length).toBe(true);
          expect(tree.exceeded).toHaveLength(admitted < turns.length ? 1 : 0);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('overshoots by no more than the replies under way, each by what it was larger than its estimate', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 500, max: 5_000 }),
        fc.array(
          fc.record({ estimate: fc.integer({ min: 1, max: 900 }), more: fc.integer({ min: 0, max: 900 }) }),
          { minLength: 2, maxLength: 12 },
        ),
        (budget, sizes) => {
          const turns = sizes.map(({ estimate, more }) => ({ estimate, actual: estimate + more }));
          const { children, spent } = playAtOnce(budget, turns, () => 0);
          const over = children.reduce((total, run) => total + run.overshoot, 0);
          expect(spent).toBeLessThanOrEqual(budget + over);
        },
      ),
      { numRuns: 100 },
    );
  });
});
