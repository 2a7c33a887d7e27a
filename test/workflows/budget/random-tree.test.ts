import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BudgetLimits } from '../../../contracts/run.ts';
import { pooledNames } from '../../../workflows/budget/amounts.ts';
import { rootHandle, SimulatedTree } from './simulated-tree.ts';
import type { SimulatedRun } from './simulated-tree.ts';

const limitsOf = fc
  .record({
    tokens: fc.option(fc.oneof(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1_000, max: 30_000 })), {
      nil: undefined,
    }),
    toolCalls: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
    seconds: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
  })
  .map((limits): BudgetLimits | null => {
    const given = Object.entries(limits).filter(([, limit]) => limit !== undefined);
    return given.length === 0 ? null : (Object.fromEntries(given) as BudgetLimits);
  });
const mayLimit = fc.oneof({ arbitrary: fc.constant(null), weight: 4 }, { arbitrary: limitsOf, weight: 1 });

const move = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('spawn' as const), at: fc.nat(), limits: mayLimit }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      at: fc.nat(),
      tokens: fc.integer({ min: 1, max: 900 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      at: fc.nat(),
      count: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('finish' as const),
      at: fc.nat(),
      // Beyond 100: a reply that is larger than its reservation.
      percent: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 90, max: 150 })),
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      kind: fc.constant('deliver' as const),
      at: fc.nat(),
      again: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('pause' as const, 'pause' as const, 'end' as const, 'kill' as const),
      at: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('elapse' as const), at: fc.nat() }) },
);
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

function pick<T>(list: readonly T[], at: number): T | undefined {
  return list[at % Math.max(1, list.length)];
}

function play(tree: SimulatedTree, next: Move): void {
  if (next.kind === 'deliver') return tree.deliver(next.at, next.again);
  if (next.kind === 'spawn') {
    const under = pick([...tree.runs.keys()], next.at) ?? rootHandle;
    if (tree.runs.size < 12) tree.spawn(under, next.limits);
    return;
  }
  if (next.kind === 'elapse') {
    const owner = pick(Object.keys(tree.state.owners), next.at);
    if (owner !== undefined && tree.state.owners[owner]?.limits.seconds !== undefined) tree.elapse(owner);
    return;
  }
  const run = pick(tree.live(), next.at);
  if (run === undefined) return;
  switch (next.kind) {
    case 'turn':
      return tree.want(run, { tokens: next.tokens, toolCalls: 0 });
    case 'calls':
      return tree.want(run, { tokens: 0, toolCalls: next.count });
    case 'finish':
      return tree.finish(run, Math.floor(((run.account?.reservedTokens ?? 100) * next.percent) / 100));
    case 'pause':
      return tree.pause(run);
    case 'end':
      return tree.end(run);
    case 'kill':
      return tree.kill(run);
  }
}

const sum = (runs: readonly SimulatedRun[], of: (run: SimulatedRun) => number): number =>
  runs.reduce((total, run) => total + of(run), 0);

/** What does not hold though it must after every step, whatever has been told to whom by then. */
function breaches(tree: SimulatedTree): string[] {
  const found: string[] = [];
  for (const run of tree.runs.values()) {
    const ledger = tree.state.owners[run.handle];
    const below = run.limits === null ? [] : tree.subtree(run.handle);
    for (const name of pooledNames) {
      if ((ledger?.granted[name] ?? 0) < 0) found.push(`${run.handle}: negative grants of ${name}`);
      const limit = run.limits?.[name];
      if (limit === undefined) continue;
      const most = limit + (name === 'tokens' ? sum(below, (one) => one.overshoot) : 0);
      // The law itself, as the ledger knows it.
      if (ledger !== undefined && ledger.used[name] + ledger.granted[name] > most) {
        found.push(`${run.handle}: ${name} ${ledger.used[name]} + ${ledger.granted[name]} > ${most}`);
      }
      // What is really spent and under way, whether the ledger knows of it or not.
      const underWay = name === 'tokens' ? sum(below, reservedBy) : 0;
      const spent = sum(below, (one) => one.spent[name]);
      if (spent + underWay > most) found.push(`${run.handle}: really ${spent} + ${underWay} > ${most}`);
    }
  }
  return found;
}

function reservedBy({ doing, account }: SimulatedRun): number {
  return doing === 'turn' ? (account?.reservedTokens ?? 0) : 0;
}

function expectLawful(tree: SimulatedTree): void {
  const found = breaches(tree);
  if (found.length > 0) throw new Error(found.join('; '));
}

/** Lets everything come to its end: what was sent arrives, what runs ends, and nobody waits for ever. */
function settle(tree: SimulatedTree): void {
  for (let round = 0; round < 200; round += 1) {
    tree.deliverAll();
    const busy = tree.live().filter((run) => run.doing === 'turn' || run.doing === 'tools');
    if (busy.length === 0) break;
    // One at a time, and one of tools last: a run may wait inside a call for a run below it.
    const next = busy.find((run) => run.doing === 'turn') ?? busy[0];
    if (next !== undefined) tree.finish(next, next.account?.reservedTokens ?? 0);
    expectLawful(tree);
  }
}

const games = fc.record({
  limits: fc.oneof({ arbitrary: limitsOf, weight: 4 }, { arbitrary: fc.constant(null), weight: 1 }),
  moves: fc.array(move, { minLength: 1, maxLength: 150, size: 'max' }),
});

// Much is played in each; a busy machine may need a while.
describe('the ledgers of a tree, over random trees and interleavings', { timeout: 60_000 }, () => {
  it('never let more be granted and spent than the limit, but for replies beyond their reservation', () => {
    let grants = 0;
    let exceeded = 0;
    fc.assert(
      fc.property(games, ({ limits, moves }) => {
        const tree = new SimulatedTree(limits);
        for (const next of moves) {
          play(tree, next);
          expectLawful(tree);
        }
        grants += tree.grantsTaken;
        exceeded += tree.exceeded.length;
      }),
      { numRuns: 150 },
    );
    expect(grants).toBeGreaterThan(40);
    expect(exceeded).toBeGreaterThan(20);
  });

  it('leave nobody waiting for ever, not even for a run that waits inside a tool call', () => {
    fc.assert(
      fc.property(games, ({ limits, moves }) => {
        const tree = new SimulatedTree(limits);
        for (const next of moves) play(tree, next);
        // Tools go on for as long as they like; only turns end.
        for (let round = 0; round < 200; round += 1) {
          tree.deliverAll();
          const turn = tree.live().find((run) => run.doing === 'turn');
          if (turn === undefined) break;
          tree.finish(turn, turn.account?.reservedTokens ?? 0);
        }
        tree.deliverAll();
        expect(tree.live().filter((run) => run.doing === 'asking')).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it('add up in the end: an owner has used what the runs below it have spent, nothing twice', () => {
    fc.assert(
      fc.property(games, ({ limits, moves }) => {
        const tree = new SimulatedTree(limits);
        for (const next of moves) play(tree, next);
        settle(tree);
        for (const run of tree.live()) tree.end(run);
        tree.deliverAll();
        for (const [owner, ledger] of Object.entries(tree.state.owners)) {
          expect(ledger.granted).toEqual({ tokens: 0, toolCalls: 0 });
          for (const name of pooledNames) {
            expect(ledger.used[name]).toBe(sum(tree.subtree(owner), (run) => run.spent[name]));
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  it('end an owner once, only when it has run out, and nothing is started below it any more', () => {
    fc.assert(
      fc.property(games, ({ limits, moves }) => {
        const tree = new SimulatedTree(limits);
        for (const next of moves) {
          const before = tree.exceeded.length;
          play(tree, next);
          for (const { owner, name, reason } of tree.exceeded.slice(before)) {
            expect(reason).toMatch(
              new RegExp(`^budget exceeded: ${name} \\d+/${tree.run(owner).limits?.[name]}`),
            );
            expect(tree.spawn(owner, null)).toBe(false);
          }
        }
        const owners = tree.exceeded.map(({ owner }) => owner);
        expect(new Set(owners).size).toBe(owners.length);
      }),
      { numRuns: 100 },
    );
  });
});
