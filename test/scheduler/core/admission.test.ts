/** Rules 6, 7 and 8: how many turns a replica takes, and for whom it keeps room. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { caseFile } from '../../case-file.ts';
import { replica, Scenario, type TurnFields } from './scenario.ts';

const batch = { class: 'batch' } as const;
let next = 0;

/** How many of `count` new turns are admitted at once. */
function admits(scenario: Scenario, count: number, fields: TurnFields = {}): number {
  let admissions = 0;
  for (let index = 0; index < count; index += 1) admissions += scenario.arrive(`n${next++}`, fields).length;
  return admissions;
}

describe('engine-load', () => {
  it.each<[string, { running?: number; waiting?: number } | null, number]>([
    ['reports no load is not limited', null, 50],
    ['has no turns waiting is not limited', { running: 4, waiting: 0 }, 50],
    ['has turns waiting takes as many as it runs', { running: 4, waiting: 1 }, 4],
    ['has turns waiting and runs none takes one', { running: 0, waiting: 3 }, 1],
    ['does not say what waits is not limited', { running: 4 }, 50],
    ['has turns waiting and does not say what runs takes one', { waiting: 2 }, 1],
  ])('an engine that %s', (_name, load, expected) => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', load);
    expect(admits(scenario, 50)).toBe(expected);
  });

  it('counts turns that no probe can have seen yet', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', { running: 3, waiting: 0 });
    expect(admits(scenario, 10)).toBe(10);
    scenario.probe('a', { running: 8, waiting: 2 });
    expect(admits(scenario, 1)).toBe(0);
    expect(scenario.finish(`n${next - 11}`)).toEqual([]);
    expect(scenario.finish(`n${next - 10}`)).toEqual([]);
    expect(scenario.finish(`n${next - 9}`)).toEqual([`n${next - 1}@a`]);
  });

  it('admits what is held as soon as a probe says that nothing waits any more', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', { running: 1, waiting: 5 });
    admits(scenario, 4);
    expect(scenario.state.heldTurns).toBe(3);
    expect(scenario.probe('a', { running: 1, waiting: 0 })).toHaveLength(3);
  });

  it('takes a load for unknown after three probes without one, not before', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', { running: 1, waiting: 5 });
    admits(scenario, 3);
    expect(scenario.probe('a')).toEqual([]);
    expect(scenario.probe('a')).toEqual([]);
    expect(scenario.probe('a')).toHaveLength(2);
  });

  it('never takes more than maxConcurrent, whatever the engine says', () => {
    const scenario = new Scenario([replica('a', { maxConcurrent: 2 })]);
    expect(admits(scenario, 5)).toBe(2);
    scenario.probe('a', { running: 9, waiting: 1 });
    expect(scenario.state.replicas.get(replica('a').id)?.inFlight).toBe(2);
  });
});

describe('a batch turn', () => {
  /** A full-up engine with `paused` interactive runs paused on it, limited to 4. */
  function withPaused(paused: number): Scenario {
    const scenario = new Scenario([replica('a', { maxConcurrent: 4 })], { batchShare: 0 });
    for (let run = 0; run < paused; run += 1) scenario.serve(`p${run}`, { run: `paused${run}` }, 'paused');
    return scenario;
  }

  it.each([
    [0, 4],
    [1, 3],
    [3, 1],
    [4, 0],
    [6, 0],
  ])('leaves a place for each of %i paused interactive runs', (paused, room) => {
    expect(admits(withPaused(paused), 6, batch)).toBe(room);
    expect(admits(withPaused(paused), 6)).toBe(4);
  });

  it('leaves no place for paused batch runs, nor for idle runs', () => {
    const scenario = withPaused(0);
    scenario.serve('b', { run: 'b', ...batch }, 'paused');
    scenario.serve('d', { run: 'd' }, 'done');
    scenario.serve('f', { run: 'f' }, 'failed');
    expect(admits(scenario, 6, batch)).toBe(4);
  });

  it('takes the place when the pause has outlasted its reservation', () => {
    const scenario = withPaused(4);
    admits(scenario, 2, batch);
    expect(scenario.pass(14_000)).toEqual([]);
    expect(scenario.pass(2_000)).toHaveLength(2);
  });

  it('takes the place when the paused run is ended', () => {
    const scenario = withPaused(4);
    scenario.arrive('b', batch);
    expect(scenario.replicaOf('b')).toBeUndefined();
    scenario.send({ type: 'runEnded', proxy: 'p' as never, run: 'paused0' as never });
    expect(scenario.replicaOf('b')).toBe('a');
  });

  it('gives the place to the run that comes back from its pause', () => {
    const scenario = withPaused(1);
    expect(admits(scenario, 6, batch)).toBe(3);
    expect(scenario.arrive('back', { run: 'paused0' })).toEqual(['back@a']);
  });
});

describe('a one-shot replica', () => {
  it('takes turns while every generative place is taken, and keeps no run', () => {
    const scenario = new Scenario([
      replica('gen', { maxConcurrent: 1 }),
      replica('judge', { kind: 'one-shot', models: ['guard'] }),
    ]);
    scenario.arrive('busy');
    scenario.arrive('held');
    expect(scenario.arrive('c1', { api: 'classify', model: 'guard', run: 'x' })).toEqual(['c1@judge']);
    expect(scenario.run('x')).toBeUndefined();
    scenario.finish('c1');
    expect(scenario.state.turns.size).toBe(2);
  });
});

it('gives no conversation to a one-shot replica, whatever its entry says it speaks', () => {
  const scenario = new Scenario([
    replica('judge', { kind: 'one-shot', apis: ['chat', 'classify'] }),
    replica('gen', { maxConcurrent: 1 }),
  ]);
  expect(scenario.arrive('t1')).toEqual(['t1@gen']);
  expect(scenario.arrive('t2')).toEqual([]);
  expect(scenario.arrive('c', { api: 'classify' })).toEqual(['c@judge']);
});

const g03 = caseFile('G03');
const g03Given = z
  .object({ limit: z.number(), endings: z.array(z.string()), repeat: z.number() })
  .parse(g03.given);

describe(`${g03.id} ${g03.title}`, () => {
  const endings: Record<string, (scenario: Scenario, turn: string) => void> = {
    success_stream: (scenario, turn) => {
      scenario.send({ type: 'turnStarted', proxy: 'p' as never, turn: turn as never });
      scenario.finish(turn, 'done');
    },
    success_json: (scenario, turn) => void scenario.finish(turn, 'paused'),
    engine_400: (scenario, turn) => void scenario.finish(turn, 'refused'),
    client_drop_queued: (scenario, turn) => {
      scenario.arrive(`held-${turn}`, { run: 'r', model: 'm', api: 'classify' });
      scenario.abandon(`held-${turn}`);
      scenario.finish(turn, 'done');
    },
    client_drop_before_first_byte: (scenario, turn) => void scenario.abandon(turn),
    client_drop_mid_stream: (scenario, turn) => {
      scenario.send({ type: 'turnStarted', proxy: 'p' as never, turn: turn as never });
      scenario.finish(turn, 'failed');
    },
    idle_timeout: (scenario) => {
      scenario.nowMs += 600_000;
      scenario.pass(1_000);
    },
    engine_reset: (scenario, turn) => void scenario.finish(turn, 'failed'),
    internal_exception: (scenario) => {
      scenario.lose();
      scenario.pass(31_000);
      scenario.resync('p');
    },
    double_end: (scenario, turn) => {
      scenario.finish(turn, 'done');
      scenario.finish(turn, 'failed');
      scenario.abandon(turn);
    },
  };

  it('every ending of the case is tried here', () => {
    expect(Object.keys(endings).toSorted()).toEqual(g03Given.endings.toSorted());
  });

  it.each(Object.entries(endings))('places are all free again after turns that end by %s', (_name, end) => {
    const scenario = new Scenario([replica('a', { maxConcurrent: g03Given.limit })]);
    for (let index = 0; index < g03Given.repeat; index += 1) {
      scenario.arrive(`t${index}`, { run: 'r' });
      expect(scenario.replicaOf(`t${index}`)).toBe('a');
      expect(scenario.state.replicas.get(replica('a').id)?.inFlight).toBe(1);
      end(scenario, `t${index}`);
      expect(scenario.state.replicas.get(replica('a').id)?.inFlight).toBe(0);
      expect(scenario.state.turns.size).toBe(0);
    }
    expect(admits(scenario, g03Given.limit + 2)).toBe(g03Given.limit);
  });

  it('are not taken by a client that leaves while its turn is held', () => {
    const scenario = new Scenario([replica('a', { maxConcurrent: 1 })]);
    scenario.arrive('busy');
    for (let index = 0; index < 50; index += 1) {
      scenario.arrive(`t${index}`);
      scenario.abandon(`t${index}`);
    }
    expect(scenario.state).toMatchObject({ heldTurns: 0 });
    expect(scenario.state.runs.size).toBe(1);
    scenario.finish('busy');
    expect(scenario.arrive('next')).toEqual(['next@a']);
  });
});
