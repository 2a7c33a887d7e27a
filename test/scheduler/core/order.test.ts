/** Rules 4 and 5: which held turn goes first. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../contracts/config-file.ts';
import { replica, Scenario, type TurnFields } from './scenario.ts';

const batch = { class: 'batch' } as const;
/** One place, so that turns are admitted one after the other. */
const one = [replica('a', { maxConcurrent: 1 })];

/** Ends whatever is in flight until nothing is held; the order in which turns went. */
function drain(scenario: Scenario, outcome: 'done' | 'paused' = 'done'): string[] {
  const order: string[] = [];
  for (;;) {
    const running = [...scenario.state.turns.values()].find((turn) => turn.replica !== null);
    if (running === undefined) return order;
    order.push(running.spec.turn);
    scenario.finish(running.spec.turn, outcome);
  }
}

/** A scenario with its one place taken by `blocker`, whose own place in the order is of no interest. */
function blocked(policy: Partial<Policy> = {}, callers = {}): Scenario {
  const scenario = new Scenario(one, { batchShare: 0, ...policy }, callers);
  scenario.arrive('blocker', { caller: 'nobody' });
  return scenario;
}

describe('held turns go', () => {
  it('by arrival within a class', () => {
    const scenario = blocked();
    for (const turn of ['1', '2', '3']) scenario.arrive(turn);
    expect(drain(scenario)).toEqual(['blocker', '1', '2', '3']);
  });

  it('interactive before batch', () => {
    const scenario = blocked();
    scenario.arrive('b1', batch);
    scenario.arrive('i1');
    scenario.arrive('b2', batch);
    scenario.arrive('i2');
    expect(drain(scenario)).toEqual(['blocker', 'i1', 'i2', 'b1', 'b2']);
  });

  it('those that resume a run before those that begin one, within a class', () => {
    const scenario = new Scenario(one, { batchShare: 0 });
    scenario.serve('old', { run: 'r', ...batch }, 'paused');
    scenario.serve('older', { run: 's' }, 'done');
    scenario.arrive('blocker', { caller: 'nobody' });
    scenario.arrive('new');
    scenario.arrive('new-batch', batch);
    scenario.arrive('resume-batch', { run: 'r', ...batch });
    scenario.arrive('resume', { run: 's' });
    expect(drain(scenario)).toEqual(['blocker', 'resume', 'new', 'resume-batch', 'new-batch']);
  });

  it('the caller with the fewest turns in flight first, then by arrival', () => {
    const scenario = new Scenario([replica('a', { maxConcurrent: 3 })], { batchShare: 0 });
    for (const turn of ['a1', 'a2']) scenario.arrive(turn, { caller: 'a' });
    scenario.arrive('b1', { caller: 'b' });
    for (const turn of ['a3', 'a4']) scenario.arrive(turn, { caller: 'a' });
    for (const turn of ['b2', 'b3']) scenario.arrive(turn, { caller: 'b' });
    scenario.arrive('c1', { caller: 'c' });
    expect(scenario.finish('a1')).toEqual(['c1@a']);
    expect(scenario.finish('c1')).toEqual(['a3@a']);
    expect(scenario.finish('a2')).toEqual(['a4@a']);
    expect(scenario.finish('b1')).toEqual(['b2@a']);
  });

  it('by weight: a caller of weight 3 holds three places for each of one of weight 1', () => {
    const scenario = new Scenario(
      [replica('a', { maxConcurrent: 8 })],
      {},
      { heavy: { weight: 3 }, light: { weight: 1 } },
    );
    for (let turn = 0; turn < 8; turn += 1) scenario.arrive(`first${turn}`, { caller: 'nobody' });
    for (let turn = 0; turn < 20; turn += 1) {
      scenario.arrive(`h${turn}`, { caller: 'heavy' });
      scenario.arrive(`l${turn}`, { caller: 'light' });
    }
    for (let turn = 0; turn < 8; turn += 1) scenario.finish(`first${turn}`);
    const inFlight = (caller: string): number =>
      [...scenario.state.callers.values()].find(({ id }) => id === caller)?.inFlight ?? 0;
    expect([inFlight('heavy'), inFlight('light')]).toEqual([6, 2]);
  });

  it('a batch turn as interactive once it was held for maxBatchHoldMs', () => {
    const scenario = blocked({ maxBatchHoldMs: 5_000 });
    scenario.arrive('aged', batch);
    scenario.pass(3_000);
    scenario.arrive('young', batch);
    scenario.arrive('i1');
    scenario.pass(2_000);
    scenario.arrive('i2');
    expect(drain(scenario)).toEqual(['blocker', 'aged', 'i1', 'i2', 'young']);
  });
});

describe('the batch share', () => {
  /** Interactive and batch turns of new runs wait all the time; how many of 100 admissions go to batch. */
  function batchOf100(batchShare: number, fields: TurnFields = {}): number {
    const scenario = new Scenario(one, { batchShare });
    scenario.arrive('blocker');
    let last = 'blocker';
    let batches = 0;
    for (let index = 0; index < 100; index += 1) {
      scenario.arrive(`b${index}`, { ...batch, ...fields });
      scenario.arrive(`i${index}`);
      const [next] = scenario.finish(last);
      last = next?.split('@')[0] ?? '';
      if (last.startsWith('b')) batches += 1;
    }
    return batches;
  }

  it.each([
    [0, 0],
    [0.1, 10],
    [0.25, 25],
    [0.5, 50],
    [1, 100],
  ])('of %s gives batch turns %i of 100 admissions', (share, expected) => {
    expect(batchOf100(share)).toBe(expected);
  });

  it('counts across APIs that share a replica', () => {
    const scenario = new Scenario([replica('a', { maxConcurrent: 1, apis: ['chat', 'messages'] })], {
      batchShare: 0.5,
    });
    scenario.arrive('i0', { api: 'messages' });
    for (const turn of ['b1', 'b2']) scenario.arrive(turn, batch);
    for (const turn of ['i1', 'i2']) scenario.arrive(turn, { api: 'messages' });
    expect(drain(scenario)).toEqual(['i0', 'i1', 'b1', 'i2', 'b2']);
  });

  it('is not taken from turns of resident runs', () => {
    const scenario = new Scenario(one, { batchShare: 1 });
    scenario.serve('t1', { run: 'r' }, 'paused');
    scenario.arrive('blocker', { run: 'x' });
    scenario.arrive('b1', batch);
    scenario.arrive('t2', { run: 'r' });
    expect(drain(scenario)).toEqual(['blocker', 't2', 'b1']);
  });
});

it('admits every held turn exactly once, in an order that obeys class and arrival', () => {
  const turns = fc.array(fc.record({ batch: fc.boolean(), caller: fc.constantFrom('a', 'b', 'c') }), {
    minLength: 1,
    maxLength: 40,
  });
  fc.assert(
    fc.property(turns, (list) => {
      const scenario = blocked();
      for (const [index, turn] of list.entries()) {
        scenario.arrive(`${index}`, { class: turn.batch ? 'batch' : 'interactive', caller: turn.caller });
      }
      const order = drain(scenario).slice(1).map(Number);
      expect(order.toSorted((a, b) => a - b)).toEqual(list.map((_turn, index) => index));
      const classes = order.map((index) => list[index]?.batch);
      expect(classes).toEqual(classes.toSorted((a, b) => Number(a) - Number(b)));
      for (const caller of ['a', 'b', 'c']) {
        for (const isBatch of [true, false]) {
          const own = order.filter((i) => list[i]?.caller === caller && list[i]?.batch === isBatch);
          expect(own).toEqual(own.toSorted((a, b) => a - b));
        }
      }
    }),
    { numRuns: 60 },
  );
});
