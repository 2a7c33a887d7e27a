import { describe, expect, it } from 'vitest';
import type { Admission, Arm, ArmKind, ArmTurn, Probe, TurnEnd } from '../../../bench/sim/arms/arm.ts';
import { cacheAware } from '../../../bench/sim/arms/cache-aware.ts';
import { kthenaSessionBoost } from '../../../bench/sim/arms/kthena-session-boost.ts';
import { llmDAttainedService, llmDTurnPriority } from '../../../bench/sim/arms/llm-d-flow-control.ts';
import { engineLoad, residency, residencyLearned } from '../../../bench/sim/arms/registry.ts';
import { consistentHash, roundRobin, sticky } from '../../../bench/sim/arms/routers.ts';
import { thunderAgentTokenBudget } from '../../../bench/sim/arms/thunderagent-token-budget.ts';
import { createEngine } from '../../../testkit/sim-engine/core/engine-state.ts';
import { metricsText } from '../../../testkit/sim-engine/metrics-text.ts';

function turn(id: string, fields: Partial<ArmTurn> = {}): ArmTurn {
  return {
    id,
    run: id.split('.')[0] ?? id,
    class: 'batch',
    caller: 'bob',
    number: Number(id.split('.')[1] ?? 0),
    promptTokens: 1_000,
    prefix: [],
    ...fields,
  };
}

const ended: TurnEnd = {
  outcome: 'paused',
  promptTokens: 1_000,
  outputTokens: 50,
  cachedTokens: 0,
  toolName: 'lookup',
};

function probe(replica: number, fields: Partial<Probe> = {}): Probe {
  const { running = 0, waiting = 0 } = fields;
  return {
    replica,
    running,
    waiting,
    cacheUsage: 0,
    capacityTokens: 10_000,
    metrics: () => `vllm:num_requests_running ${running}\nvllm:num_requests_waiting ${waiting}\n`,
    ...fields,
  };
}

const open = (kind: ArmKind, replicas = 2): Arm => {
  const arm = kind.create({ replicas, seed: 1 });
  arm.probed(
    Array.from({ length: replicas }, (_, replica) => probe(replica)),
    0,
  );
  return arm;
};
const names = (admissions: readonly Admission[]): string[] => admissions.map((one) => one.turn);
const placeOf = (admissions: readonly Admission[]): number | undefined => admissions[0]?.replica;

/** Sends `count` turns of runs of their own; returns how many went. */
function fill(arm: Arm, count: number, atMs = 0): number {
  let went = 0;
  for (let index = 0; index < count; index += 1) went += arm.arrived(turn(`fill${index}.0`), atMs).length;
  return went;
}

describe('plain routers', () => {
  it('round robin takes the replicas in turn', () => {
    const arm = open(roundRobin, 3);
    expect([1, 2, 3, 4].map((id) => placeOf(arm.arrived(turn(`r${id}.0`), 0)))).toEqual([0, 1, 2, 0]);
  });

  it('sticky keeps a run where it is and begins one where the fewest runs are', () => {
    const arm = open(sticky);
    const places = ['a.0', 'b.0', 'c.0'].map((id) => placeOf(arm.arrived(turn(id), 0)));
    expect(places).toEqual([0, 1, 0]);
    arm.finished('a.0', ended, 1);
    expect(placeOf(arm.arrived(turn('a.1'), 2))).toBe(0);
    arm.runEnded('a', 3);
    arm.runEnded('c', 3);
    expect(placeOf(arm.arrived(turn('d.0'), 4))).toBe(0);
  });

  it('a consistent hash keeps runs in place, spreads them, and moves few when a replica is added', () => {
    const runs = Array.from({ length: 400 }, (_, index) => `run${index}`);
    const placesOf = (replicas: number): (number | undefined)[] => {
      const arm = open(consistentHash, replicas);
      return runs.map((run) => placeOf(arm.arrived(turn(`${run}.0`), 0)));
    };
    expect(placesOf(4)).toEqual(placesOf(4));
    const four = placesOf(4);
    const five = placesOf(5);
    for (const replica of [0, 1, 2, 3]) {
      expect(four.filter((place) => place === replica).length).toBeGreaterThan(50);
    }
    const moved = four.filter((place, index) => place !== five[index]);
    expect(moved.length).toBeLessThan(150);
    // What moves, moves to the new one.
    expect(four.every((place, index) => place === five[index] || five[index] === 4)).toBe(true);
  });
});

describe('cache-aware', () => {
  const prefix = ['h0', 'h1', 'h2', 'h3'];

  it('sends a prompt to the replica that has seen more than 0.3 of it, else where least is remembered', () => {
    const arm = open(cacheAware);
    expect(placeOf(arm.arrived(turn('a.0', { prefix }), 0))).toBe(0);
    expect(placeOf(arm.arrived(turn('b.0', { prefix: ['x', 'y'] }), 0))).toBe(1);
    expect(placeOf(arm.arrived(turn('a.1', { prefix: [...prefix, 'h4'] }), 0))).toBe(0);
    // One block of four is too little: replica 1 remembers less.
    expect(placeOf(arm.arrived(turn('c.0', { prefix: ['h0', 'z1', 'z2', 'z3'] }), 0))).toBe(1);
  });

  it('lets load win when the difference is more than 64 turns and half as many again', () => {
    const arm = open(cacheAware);
    const places = Array.from({ length: 66 }, (_, index) =>
      placeOf(arm.arrived(turn(`r${index}.0`, { prefix }), 0)),
    );
    expect(places.slice(0, 65)).toEqual(places.slice(0, 65).map(() => 0));
    expect(places[65]).toBe(1);
  });
});

describe("Kthena's session boost", () => {
  it('sends at most 16 turns a replica, and none while every engine has a queue', () => {
    const arm = open(kthenaSessionBoost);
    expect(fill(arm, 40)).toBe(32);
    expect(names(arm.finished('fill0.0', ended, 1))).toEqual(['fill32.0']);
    arm.probed([probe(0, { waiting: 1 }), probe(1, { waiting: 2 })], 2);
    expect(arm.finished('fill1.0', ended, 3)).toEqual([]);
    expect(names(arm.probed([probe(0), probe(1, { waiting: 2 })], 4))).toEqual(['fill33.0']);
  });

  it('prefers the session that completed a turn most recently, then the order of arrival', () => {
    const arm = open(kthenaSessionBoost);
    fill(arm, 32);
    arm.arrived(turn('new.0'), 1);
    arm.probed([probe(0, { waiting: 9 }), probe(1, { waiting: 9 })], 2);
    arm.finished('fill0.0', ended, 3);
    arm.finished('fill1.0', ended, 4);
    arm.arrived(turn('fill0.1'), 5);
    arm.arrived(turn('fill1.1'), 6);
    expect(names(arm.probed([probe(0), probe(1)], 7))).toEqual(['fill1.1', 'fill0.1']);
    expect(names(arm.finished('fill2.0', ended, 8))).toEqual(['new.0']);
  });
});

describe("llm-d's flow control", () => {
  const busy = [probe(0, { running: 9, waiting: 5 }), probe(1, { running: 9, waiting: 5 })];
  const free = [probe(0, { running: 9 }), probe(1, { running: 9 })];

  it('holds turns while the pool is saturated, by its queues or by what it does not report yet', () => {
    const arm = open(llmDTurnPriority);
    expect(fill(arm, 30)).toBe(10);
    const other = open(llmDTurnPriority);
    other.probed([probe(0, { cacheUsage: 0.9 }), probe(1, { cacheUsage: 0.75 })], 1);
    expect(other.arrived(turn('a.0'), 2)).toEqual([]);
    expect(names(other.probed([probe(0, { cacheUsage: 0.7 }), probe(1, { cacheUsage: 0.7 })], 3))).toEqual([
      'a.0',
    ]);
  });

  it('turn priority: the interactive band, then the deepest session, which waiting overtakes', () => {
    const arm = open(llmDTurnPriority);
    arm.probed(busy, 0);
    arm.arrived(turn('waited.0'), 1_000);
    arm.arrived(turn('deep.5'), 61_000);
    arm.arrived(turn('deeper.2'), 61_000);
    arm.arrived(turn('person.0', { class: 'interactive' }), 61_000);
    // 0.05 a second: 60 s are worth three turns, so the fresh session stands between the deep ones.
    expect(names(arm.probed(free, 61_000))).toEqual(['person.0', 'deep.5', 'waited.0', 'deeper.2']);
  });

  it('turn priority: a session that was silent for two minutes counts from one again', () => {
    const arm = open(llmDTurnPriority);
    for (const run of ['old', 'fresh']) arm.arrived(turn(`${run}.0`), 0);
    arm.finished('old.0', ended, 1_000);
    arm.finished('fresh.0', ended, 100_000);
    arm.probed(busy, 121_500);
    arm.arrived(turn('old.9'), 122_000);
    arm.arrived(turn('fresh.1'), 122_000);
    expect(names(arm.probed(free, 122_000))).toEqual(['fresh.1', 'old.9']);
  });

  it('attained service: the session that has been served least goes first', () => {
    const arm = open(llmDAttainedService);
    for (const run of ['a', 'b']) arm.arrived(turn(`${run}.0`), 0);
    arm.finished('a.0', { ...ended, promptTokens: 4_000 }, 1);
    arm.finished('b.0', { ...ended, promptTokens: 500 }, 1);
    arm.probed(busy, 2);
    for (const id of ['a.1', 'b.1', 'c.0']) arm.arrived(turn(id), 3);
    expect(names(arm.probed(free, 4))).toEqual(['c.0', 'b.1', 'a.1']);
  });

  it('prefers the replica that holds the prefix, unless it is over its limits', () => {
    const prefix = ['p0', 'p1'];
    const arm = open(llmDTurnPriority);
    const first = placeOf(arm.arrived(turn('a.0', { prefix }), 0));
    arm.probed([probe(0, { running: 1 }), probe(1, { running: 1 })], 1);
    expect(placeOf(arm.arrived(turn('a.1', { prefix }), 2))).toBe(first);
    arm.probed(
      [0, 1].map((replica) => probe(replica, replica === first ? { waiting: 6 } : {})),
      3,
    );
    expect(placeOf(arm.arrived(turn('a.2', { prefix }), 4))).toBe(1 - (first ?? 0));
  });
});

describe("ThunderAgent's token budget", () => {
  const budget = [probe(0, { capacityTokens: 2_500 })];

  function start(): Arm {
    const arm = thunderAgentTokenBudget.create({ replicas: 1, seed: 1 });
    arm.probed(budget, 0);
    return arm;
  }

  it('lets new programs in while their tokens fit, and the others at the next look', () => {
    const arm = start();
    expect(['a.0', 'b.0', 'c.0'].map((id) => names(arm.arrived(turn(id), 1)))).toEqual([
      ['a.0'],
      ['b.0'],
      [],
    ]);
    arm.finished('a.0', ended, 2);
    arm.runEnded('a', 2);
    // Room alone changes nothing: somebody is paused, so even a small new program waits for the look.
    expect(arm.arrived(turn('d.0', { promptTokens: 10 }), 3)).toEqual([]);
    expect(names(arm.probed(budget, 5_000))).toEqual(['c.0', 'd.0']);
  });

  it('sends turns of active programs at once and pauses the smallest acting one over budget', () => {
    const arm = start();
    for (const id of ['a.0', 'b.0']) arm.arrived(turn(id), 1);
    arm.finished('a.0', { ...ended, promptTokens: 1_250 }, 2);
    arm.finished('b.0', { ...ended, promptTokens: 1_400 }, 2);
    expect(arm.probed(budget, 5_000)).toEqual([]);
    expect(names(arm.arrived(turn('b.1', { promptTokens: 1_450 }), 5_001))).toEqual(['b.1']);
    expect(arm.arrived(turn('a.1', { promptTokens: 1_300 }), 5_002)).toEqual([]);
    expect(arm.probed(budget, 10_000)).toEqual([]);
    arm.finished('b.1', ended, 10_001);
    arm.runEnded('b', 10_001);
    expect(names(arm.probed(budget, 15_000))).toEqual(['a.1']);
  });

  it('marks a reasoning program over budget, which pauses when its turn ends', () => {
    const arm = start();
    for (const id of ['a.0', 'b.0']) arm.arrived(turn(id), 1);
    arm.probed([probe(0, { capacityTokens: 1_500 })], 5_000);
    arm.finished('a.0', ended, 5_001);
    expect(arm.arrived(turn('a.1'), 5_002)).toEqual([]);
    arm.finished('b.0', ended, 5_003);
    expect(names(arm.arrived(turn('b.1'), 5_004))).toEqual(['b.1']);
  });
});

describe('the core as an arm', () => {
  const engine = createEngine({ totalBlocks: 200 });
  const withMemory = (): Probe => probe(0, { metrics: () => metricsText('vllm', engine, 'm') });
  const admittedAtFirst = (kind: ArmKind): number => {
    const arm = kind.create({ replicas: 1, seed: 1 });
    arm.probed([withMemory()], 0);
    // The first reply tells that cached tokens are counted here.
    arm.arrived(turn('first.0', { promptTokens: 10 }), 1);
    arm.finished('first.0', { ...ended, promptTokens: 10, outcome: 'done' }, 2);
    arm.runEnded('first', 2);
    return fill(arm, 10, 3);
  };

  it('with residency lets in what fits the reported memory, and everything where none is reported yet', () => {
    expect(admittedAtFirst(residency)).toBe(2);
    expect(admittedAtFirst(residencyLearned)).toBe(10);
  });

  it('lets turns go while no engine has a queue, and holds them at the number that run when one has', () => {
    const arm = engineLoad.create({ replicas: 1, seed: 1 });
    arm.probed([probe(0)], 0);
    expect(['a.0', 'b.0'].map((id) => names(arm.arrived(turn(id), 1)))).toEqual([['a.0'], ['b.0']]);
    arm.probed([probe(0, { running: 2, waiting: 3 })], 2_000);
    expect(arm.arrived(turn('c.0'), 2_001)).toEqual([]);
    expect(names(arm.finished('a.0', { ...ended, outcome: 'done' }, 2_002))).toEqual(['c.0']);
  });
});
