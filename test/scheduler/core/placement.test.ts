/** Rule 9: which of several replicas takes a turn. */
import { expect, it } from 'vitest';
import { replica, Scenario } from './scenario.ts';

const three = [replica('a'), replica('b'), replica('c')];

it('spreads new runs over the replicas', () => {
  const scenario = new Scenario(three);
  const went = ['1', '2', '3', '4', '5', '6'].flatMap((turn) => scenario.arrive(turn));
  expect(went).toEqual(['1@a', '2@b', '3@c', '4@a', '5@b', '6@c']);
});

it('counts runs that are paused on a replica, since they will be back', () => {
  const scenario = new Scenario(three);
  expect(['1', '2', '3'].map((turn) => scenario.serve(turn, {}, 'paused'))).toEqual(['a', 'b', 'c']);
});

it('compares turns in flight by what each replica can take', () => {
  const scenario = new Scenario([
    replica('small', { maxConcurrent: 2 }),
    replica('large', { maxConcurrent: 8 }),
  ]);
  for (let turn = 0; turn < 10; turn += 1) scenario.arrive(`${turn}`);
  const inFlight = [...scenario.state.replicas.values()].map((entry) => entry.inFlight);
  expect(inFlight).toEqual([2, 8]);
  const half = new Scenario([replica('small', { maxConcurrent: 2 }), replica('large', { maxConcurrent: 8 })]);
  for (let turn = 0; turn < 5; turn += 1) half.arrive(`${turn}`);
  expect([...half.state.replicas.values()].map((entry) => entry.inFlight)).toEqual([1, 4]);
});

it('keeps an idle run on its replica until the loads differ by more than a quarter', () => {
  const pool = [replica('a', { maxConcurrent: 8 }), replica('b', { maxConcurrent: 8 })];
  const served = (busyOnA: number): string | undefined => {
    const scenario = new Scenario(pool);
    scenario.serve('t1', { run: 'r' }, 'done');
    scenario.probe('b', null, false);
    for (let turn = 0; turn < busyOnA; turn += 1) scenario.arrive(`x${turn}`);
    scenario.probe('b');
    return scenario.serve('t2', { run: 'r' });
  };
  expect([1, 2, 3, 6].map((busy) => served(busy))).toEqual(['a', 'a', 'b', 'b']);
});

it('avoids an engine that has a queue of its own', () => {
  const scenario = new Scenario([replica('a'), replica('b')]);
  scenario.probe('a', { running: 8, waiting: 30 });
  scenario.probe('b', { running: 8, waiting: 0 });
  expect(['1', '2', '3'].flatMap((turn) => scenario.arrive(turn))).toEqual(['1@b', '2@b', '3@b']);
});

const blocks = (owner: string, shared: number): string[] =>
  Array.from({ length: 8 }, (_, block) => (block < shared ? `shared${block}` : `${owner}${block}`));

/** `a` served a prompt with the shared beginning; `busyOnA` of its eight places are taken. */
function afterShared(busyOnA: number): Scenario {
  const pool = [replica('a', { maxConcurrent: 8 }), replica('b', { maxConcurrent: 8 })];
  const scenario = new Scenario(pool);
  scenario.serve('first', { prefix: blocks('x', 6), promptTokens: 2_048 }, 'done');
  scenario.probe('b', null, false);
  for (let turn = 0; turn < busyOnA; turn += 1) scenario.arrive(`busy${turn}`);
  scenario.probe('b');
  return scenario;
}

it.each([
  ['the whole prompt', 8, [1, 1, 1, 0, 0]],
  ['half of the prompt', 4, [1, 1, 0, 0, 0]],
  ['none of it', 0, [1, 0, 0, 0, 0]],
] as const)(
  'prefers the replica that has %s cached, until the loads differ too much',
  (_name, share, expected) => {
    const served = [0, 1, 2, 3, 6].map((busy) => {
      const prefix = share === 8 ? blocks('x', 6) : blocks('y', share);
      return afterShared(busy).serve('t', { prefix, promptTokens: 2_048 }) === 'a' ? 1 : 0;
    });
    expect(served).toEqual(expected);
  },
);

it('forgets what was cached longest ago once more is known than fits the engine', () => {
  const scenario = afterShared(1);
  scenario.probe('a', { capacityTokens: 16 * 256 });
  scenario.probe('b', null, false);
  for (let turn = 0; turn < 2; turn += 1) {
    scenario.serve(`other${turn}`, { prefix: blocks(`o${turn}`, 0), promptTokens: 2_048 }, 'done');
  }
  scenario.probe('b');
  expect(scenario.serve('t', { prefix: blocks('x', 6), promptTokens: 2_048 })).toBe('b');
});
