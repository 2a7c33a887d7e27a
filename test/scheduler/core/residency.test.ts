/** Admission by the contexts of live runs: who is resident, what fits, who keeps which place. */
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../contracts/config-file.ts';
import { usableShare } from '../../../scheduler/core/capacity.ts';
import { keptMs } from '../../../scheduler/core/pause-statistics.ts';
import { admitted, replica, replicaState, Scenario, type TurnFields } from './scenario.ts';

/** What a turn weighs: its prompt, and its reply of at most 100 tokens. */
const outputTokens = 100;
const sized = (tokens: number, fields: TurnFields = {}): TurnFields => ({
  promptTokens: tokens - outputTokens,
  maxTokens: outputTokens,
  ...fields,
});
const batch = { class: 'batch' } as const;

/** Replicas that report room for `usableTokens` each, after the part that is left free. */
function pool(usableTokens: number, ids: readonly string[] = ['a'], policy: Partial<Policy> = {}): Scenario {
  const scenario = new Scenario(
    ids.map((id) => replica(id)),
    { batchShare: 0, ...policy },
  );
  for (const id of ids) scenario.probe(id, { capacityTokens: usableTokens / usableShare });
  return scenario;
}

const sum = (scenario: Scenario, id = 'a'): number => replicaState(scenario, id).ledger.tokens;

describe('a turn of a run that is not resident', () => {
  it.each([
    ['fits exactly', 1_000, [600, 400], ['t0', 't1']],
    ['does not fit by one token', 999, [600, 400], ['t0']],
    ['is larger than the whole capacity, and nobody is resident', 500, [900], ['t0']],
    ['is larger than the whole capacity, and somebody is resident', 500, [100, 900], ['t0']],
  ])('that %s (%i)', (_name, capacity, sizes, expected) => {
    const scenario = pool(capacity);
    const went = sizes.flatMap((tokens, index) => scenario.arrive(`t${index}`, sized(tokens)));
    expect(went).toEqual(expected.map((turn) => `${turn}@a`));
  });

  it('goes where the sum is smallest', () => {
    const scenario = pool(10_000, ['a', 'b', 'c']);
    expect(scenario.arrive('1', sized(3_000))).toEqual(['1@a']);
    expect(scenario.arrive('2', sized(2_000))).toEqual(['2@b']);
    expect(scenario.arrive('3', sized(1_000))).toEqual(['3@c']);
    expect(scenario.arrive('4', sized(1_500))).toEqual(['4@c']);
    expect(scenario.arrive('5', sized(1_000))).toEqual(['5@b']);
  });

  it('goes where the sum is smaller among as many runs also while nothing is known of the memory', () => {
    const scenario = new Scenario([replica('a'), replica('b')]);
    scenario.arrive('1', sized(3_000));
    expect(scenario.arrive('2', sized(1_000))).toEqual(['2@b']);
    expect(scenario.arrive('3', sized(500))).toEqual(['3@b']);
  });

  it('goes to its last replica if it fits there, although that one is fuller', () => {
    const scenario = pool(10_000, ['a', 'b']);
    scenario.serve('1', sized(1_000, { run: 'r' }), 'done');
    scenario.arrive('2', sized(2_000));
    expect(scenario.arrive('3', sized(1_000, { run: 'r' }))).toEqual(['3@a']);
  });

  it('goes elsewhere when it does not fit on its last replica', () => {
    const scenario = pool(2_500, ['a', 'b']);
    scenario.serve('1', sized(1_000, { run: 'r' }), 'done');
    expect(scenario.arrive('2', sized(2_000))).toEqual(['2@a']);
    expect(scenario.arrive('3', sized(1_000, { run: 'r' }))).toEqual(['3@b']);
  });

  it('that does not fit keeps its place: smaller ones behind it do not overtake it', () => {
    const scenario = pool(1_000);
    scenario.arrive('first', sized(600));
    expect(scenario.arrive('large', sized(700))).toEqual([]);
    expect(scenario.arrive('small', sized(100))).toEqual([]);
    expect(scenario.finish('first')).toEqual(['large@a', 'small@a']);
  });

  it('that does not fit keeps its place against turns for another API of the same replica too', () => {
    const scenario = new Scenario([replica('a', { apis: ['chat', 'messages'] })], { batchShare: 0 });
    scenario.probe('a', { capacityTokens: 1_000 / usableShare });
    scenario.arrive('first', sized(600));
    scenario.arrive('large', sized(700));
    expect(scenario.arrive('small', sized(100, { api: 'messages' }))).toEqual([]);
    expect(scenario.abandon('large')).toEqual(['small@a']);
  });

  it('that is later in order does not hold up an earlier one', () => {
    const scenario = pool(1_000);
    scenario.arrive('first', sized(600));
    scenario.arrive('large', sized(700, batch));
    expect(scenario.arrive('small', sized(100))).toEqual(['small@a']);
  });

  it('of a batch run that has earned the next place keeps that place though it does not fit', () => {
    const scenario = pool(1_000, ['a'], { batchShare: 1 });
    scenario.arrive('first', sized(600));
    scenario.arrive('large', sized(700, batch));
    expect(scenario.arrive('small', sized(100))).toEqual([]);
    expect(scenario.finish('first')).toEqual(['large@a', 'small@a']);
  });
});

describe('a resident run', () => {
  function paused(): Scenario {
    const scenario = pool(1_000);
    scenario.arrive('1', sized(400, { run: 'r' }));
    scenario.finish('1', 'paused', 'p', { usage: [300, 100] });
    return scenario;
  }

  it('weighs the prompt and output of its last turn while it pauses', () => {
    expect(sum(paused())).toBe(400);
  });

  it('has its next turn admitted at once on its replica, also beyond the capacity', () => {
    const scenario = paused();
    scenario.arrive('large', sized(600));
    expect(scenario.replicaOf('large')).toBe('a');
    expect(scenario.arrive('2', sized(700, { run: 'r' }))).toEqual(['2@a']);
    expect(sum(scenario)).toBe(1_300);
  });

  it('overtakes a first turn that does not fit', () => {
    const scenario = pool(1_000);
    scenario.serve('1', sized(400, { run: 'r' }));
    scenario.arrive('large', sized(900));
    expect(scenario.arrive('2', sized(500, { run: 'r' }))).toEqual(['2@a']);
  });

  it.each([
    ['interactive', 14_000, 16_000],
    ['batch', 4_000, 6_000],
  ] as const)(
    'of class %s keeps its place for its reservation and no longer',
    (serviceClass, before, after) => {
      const scenario = pool(1_000);
      scenario.serve('1', sized(400, { run: 'r', class: serviceClass }));
      scenario.arrive('large', sized(900));
      expect(admitted(scenario.pass(before))).toEqual([]);
      expect(scenario.run('r')?.resident).toBe(true);
      expect(admitted(scenario.pass(after - before))).toEqual(['large@a']);
      expect(scenario.run('r')?.resident).toBe(false);
    },
  );

  it('keeps its place as long as the policy says', () => {
    const scenario = pool(1_000, ['a'], { pauseReservationMs: { interactive: 60_000, batch: 0 } });
    scenario.serve('1', sized(400, { run: 'r' }));
    scenario.pass(59_000);
    expect(scenario.run('r')?.resident).toBe(true);
    scenario.serve('2', sized(400, { run: 's', ...batch }));
    scenario.pass(1_000);
    expect(scenario.run('s')?.resident).toBe(false);
  });

  it('with several turns at once weighs as the largest of them, and generates until the last has ended', () => {
    const scenario = pool(2_000);
    scenario.arrive('main', sized(900, { run: 'r', prefix: ['main0'] }));
    scenario.arrive('side', sized(200, { run: 'r' }));
    expect(sum(scenario)).toBe(900);
    scenario.finish('side', 'done');
    expect(sum(scenario)).toBe(900);
    scenario.finish('main', 'paused', 'p', { usage: [800, 50] });
    expect(sum(scenario)).toBe(850);
    scenario.arrive('title', sized(300, { run: 'r', prefix: ['title0'] }));
    expect(sum(scenario)).toBe(850);
    scenario.finish('title', 'done');
    expect(scenario.run('r')).toMatchObject({ rest: 'paused', resident: true });
    scenario.arrive('next', sized(1_000, { run: 'r', prefix: ['main0', 'main1'] }));
    expect(sum(scenario)).toBe(1_000);
  });

  it('gives its room back when it ends, and when its last turn ends in an answer', () => {
    const scenario = pool(1_000);
    scenario.serve('1', sized(900, { run: 'r' }));
    scenario.arrive('2', sized(800, { run: 's' }));
    scenario.send({ type: 'runEnded', proxy: 'p' as never, run: 'r' as never });
    expect(scenario.replicaOf('2')).toBe('a');
    scenario.finish('2', 'done');
    expect(sum(scenario)).toBe(0);
  });

  it('makes a batch turn leave it the room of its reservation, and no place beyond', () => {
    const scenario = pool(1_000);
    scenario.serve('1', sized(400, { run: 'r' }));
    expect(scenario.arrive('b1', sized(600, batch))).toEqual(['b1@a']);
    expect(scenario.arrive('b2', sized(101, batch))).toEqual([]);
  });

  it('waits for one of its places where the pool sets maxConcurrent', () => {
    const scenario = new Scenario([replica('a', { maxConcurrent: 1 })]);
    scenario.probe('a', { capacityTokens: 10_000 });
    scenario.serve('1', sized(400, { run: 'r' }));
    scenario.arrive('other', sized(400));
    expect(scenario.arrive('2', sized(400, { run: 'r' }))).toEqual([]);
    expect(sum(scenario)).toBe(800);
    scenario.pass(60_000);
    expect(scenario.finish('other')).toEqual(['2@a']);
  });
});

describe('a shared beginning', () => {
  const blocks = (owner: string, count: number): string[] =>
    Array.from({ length: count }, (_, block) => (block < 3 ? `shared${block}` : `${owner}${block}`));

  it('counts once in the sum, however many share it', () => {
    const scenario = pool(100_000);
    for (const owner of ['x', 'y', 'z']) scenario.arrive(owner, sized(1_280, { prefix: blocks(owner, 5) }));
    expect(sum(scenario)).toBe(3 * 1_280 - 2 * 3 * 256);
    scenario.finish('x');
    expect(sum(scenario)).toBe(2 * 1_280 - 3 * 256);
    scenario.finish('y');
    scenario.finish('z');
    expect(sum(scenario)).toBe(0);
  });

  it('lets a turn in that would not fit without it', () => {
    const scenario = pool(1_800);
    scenario.arrive('x', sized(1_280, { prefix: blocks('x', 5) }));
    expect(scenario.arrive('stranger', sized(1_280, { prefix: ['q0', 'q1', 'q2'] }))).toEqual([]);
    scenario.abandon('stranger');
    expect(scenario.arrive('y', sized(1_280, { prefix: blocks('y', 5) }))).toEqual(['y@a']);
  });
});

describe('the second gate', () => {
  it.each([
    ['turns wait and the engine does not say how full it is', { waiting: 1 }, []],
    ['turns wait and its memory is used up', { waiting: 1, cacheUsage: 0.95 }, []],
    ['turns wait only for their place in the next batch', { waiting: 1, cacheUsage: 0.4 }, ['2@a']],
    ['no turns wait', { waiting: 0, cacheUsage: 0.99 }, ['2@a']],
    ['nothing is known', {}, ['2@a']],
  ])('when %s', (_name, load, expected) => {
    const scenario = pool(10_000);
    scenario.serve('1', sized(400, { run: 'r' }));
    scenario.probe('a', load);
    expect(scenario.arrive('2', sized(400))).toEqual(expected);
    expect(scenario.arrive('3', sized(500, { run: 'r' }))).toEqual(['3@a']);
  });

  it('lets one turn into a replica without residents, whatever its engine says', () => {
    const scenario = pool(10_000);
    scenario.probe('a', { waiting: 9, cacheUsage: 1 });
    expect(scenario.arrive('1', sized(400))).toEqual(['1@a']);
    expect(scenario.arrive('2', sized(400))).toEqual([]);
  });
});

describe('where contexts cannot be measured, the rule is engine-load', () => {
  it('until a reply tells how much was cached', () => {
    const scenario = new Scenario([replica('a')], { batchShare: 0 });
    scenario.probe('a', { running: 1, waiting: 2, cacheUsage: 0.1 });
    scenario.arrive('1', sized(400));
    expect(scenario.arrive('2', sized(400))).toEqual([]);
    expect(scenario.finish('1', 'done', 'p', { usage: [300, 50] })).toEqual(['2@a']);
    expect(scenario.arrive('3', sized(400))).toEqual([]);
    expect(scenario.finish('2', 'done', 'p', { usage: [300, 50], cachedTokens: 0 })).toEqual(['3@a']);
    expect(scenario.arrive('4', sized(400))).toEqual(['4@a']);
  });
});

describe('a pause on a slow tool', () => {
  const tool = (name: string) => ({ usage: [300, 50] as const, toolNames: [name] });

  /** Pauses of these lengths on `tool`, each of a run of its own. */
  function learned(lengthsMs: readonly number[]): Scenario {
    const scenario = pool(100_000);
    for (const [index, ms] of lengthsMs.entries()) {
      const run = `past${index}`;
      scenario.arrive(`${run}.1`, sized(400, { run }));
      scenario.finish(`${run}.1`, 'paused', 'p', tool('build'));
      scenario.pass(ms);
      scenario.arrive(`${run}.2`, sized(500, { run }));
      scenario.finish(`${run}.2`, 'done');
    }
    return scenario;
  }

  it.each([
    ['three of four pauses were short', [1_000, 1_000, 1_000, 60_000], true],
    ['two of four pauses were long', [1_000, 1_000, 40_000, 60_000], false],
    ['too few are known', [60_000, 60_000, 60_000], true],
    ['all were just within the limit', [29_000, 29_000, 29_000, 29_000], true],
  ])('when %s', (_name, lengthsMs, keeps) => {
    const scenario = learned(lengthsMs);
    scenario.arrive('1', sized(400, { run: 'r' }));
    scenario.finish('1', 'paused', 'p', tool('build'));
    expect(scenario.run('r')?.resident).toBe(keeps);
    scenario.arrive('2', sized(400, { run: 's' }));
    scenario.finish('2', 'paused', 'p', tool('lookup'));
    expect(scenario.run('s')?.resident).toBe(true);
  });
});

describe('a run that calls its tools in plain text', () => {
  const reply = { usage: [300, 50] as const };

  it('pauses with its reply once it has come back soon after one', () => {
    const scenario = pool(1_000);
    scenario.arrive('1', sized(400, { run: 'r' }));
    scenario.finish('1', 'done', 'p', reply);
    expect(scenario.run('r')).toMatchObject({ resident: false, rest: 'idle' });
    scenario.pass(1_000);
    scenario.arrive('2', sized(450, { run: 'r' }));
    scenario.finish('2', 'done', 'p', reply);
    expect(scenario.run('r')).toMatchObject({ resident: true, rest: 'paused' });
    expect(sum(scenario)).toBe(350);
    scenario.pass(16_000);
    expect(scenario.run('r')?.resident).toBe(false);
  });

  it('is idle after its reply when it has come back late', () => {
    const scenario = pool(1_000);
    scenario.serve('1', sized(400, { run: 'r' }), 'done');
    scenario.pass(16_000);
    scenario.serve('2', sized(450, { run: 'r' }), 'done');
    expect(scenario.run('r')).toMatchObject({ resident: false, rest: 'idle' });
  });

  /** As many runs of a class, of which so many come back soon after their first reply. */
  function after(runs: number, returning: number, serviceClass: 'interactive' | 'batch' = 'batch'): Scenario {
    const scenario = pool(1_000);
    for (let run = 0; run < runs; run += 1) {
      const fields = { run: `${serviceClass} ${run}`, class: serviceClass };
      scenario.serve(`${run}.1`, sized(100, fields), 'done');
      if (run < returning) scenario.serve(`${run}.2`, sized(120, fields), 'failed');
      scenario.send({ type: 'runEnded', proxy: 'p' as never, run: fields.run as never });
    }
    return scenario;
  }

  it.each([
    ['most of its class come back soon', 10, 6, 'batch', true],
    ['half of them do', 10, 5, 'batch', false],
    ['too few have been seen', 7, 7, 'batch', false],
    ['those that do are of the other class', 10, 10, 'interactive', false],
  ] as const)(
    'pauses with its first reply or not when %s',
    (_name, runs, returning, serviceClass, pauses) => {
      const scenario = after(runs, returning, serviceClass);
      scenario.serve('1', sized(100, { run: 'r', class: 'batch' }), 'done');
      expect(scenario.run('r')).toMatchObject({ resident: pauses, rest: pauses ? 'paused' : 'idle' });
    },
  );

  it('follows a class that changes: of the last 64 replies most must have been followed', () => {
    const scenario = after(100, 100);
    // Of all 170 most would have been.
    for (let run = 0; run < 70; run += 1) {
      scenario.serve(`once ${run}`, sized(100, { run: `once ${run}`, class: 'batch' }), 'done');
      scenario.pass(60_000);
    }
    scenario.serve('1', sized(100, { run: 'r', class: 'batch' }), 'done');
    expect(scenario.run('r')).toMatchObject({ resident: false });
  });

  it('is protected for as long as most such pauses last', () => {
    const scenario = pool(1_000);
    expect(keptMs(scenario.state.pauseStatistics, [])).toBe(1_000);
    for (let turn = 0; turn < 6; turn += 1) {
      scenario.serve(`${turn}`, sized(100 + turn, { run: 'r' }), 'done');
      scenario.pass(3_000);
    }
    expect(keptMs(scenario.state.pauseStatistics, [])).toBe(3_000);
  });
});
