/** Rules 2 and 3: health, and the replica to which a run keeps. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { caseFile } from '../../case-file.ts';
import { replica, Scenario } from './scenario.ts';

const two = [replica('r1'), replica('r2')];

/** Puts `turns` turns of other runs on `r1` alone. */
function load(scenario: Scenario, turns: number): void {
  scenario.probe('r2', null, false);
  for (let index = 0; index < turns; index += 1) scenario.arrive(`filler${index}`);
  scenario.probe('r2');
}

describe('a paused run', () => {
  it('goes back to its replica, even if the other one is idle', () => {
    const scenario = new Scenario(two);
    expect(scenario.serve('t1', { run: 'r' })).toBe('r1');
    for (const id of ['x1', 'x2', 'x3', 'x4']) scenario.arrive(id);
    scenario.finish('x1');
    expect(scenario.serve('t2', { run: 'r' })).toBe('r1');
  });

  it('waits for its replica while that is full and the other one has room', () => {
    const scenario = new Scenario([replica('r1', { maxConcurrent: 1 }), replica('r2')]);
    scenario.serve('t1', { run: 'r' });
    scenario.probe('r2', null, false);
    expect(scenario.arrive('blocker')).toEqual(['blocker@r1']);
    scenario.probe('r2');
    expect(scenario.arrive('t2', { run: 'r' })).toEqual([]);
    scenario.pass(60_000);
    expect(scenario.replicaOf('t2')).toBeUndefined();
    expect(scenario.finish('blocker')).toEqual(['t2@r1']);
  });

  it('may move once its reservation has ended, and prefers its last replica', () => {
    const scenario = new Scenario([replica('r1', { maxConcurrent: 1 }), replica('r2', { maxConcurrent: 4 })]);
    scenario.serve('t1', { run: 'r' });
    scenario.pass(16_000);
    scenario.arrive('x1');
    expect(scenario.replicaOf('x1')).toBe('r1');
    expect(scenario.arrive('t2', { run: 'r' })).toEqual(['t2@r2']);
    const again = new Scenario(two);
    again.serve('t1', { run: 'r' });
    again.pass(16_000);
    load(again, 2);
    expect(again.serve('t2', { run: 'r' })).toBe('r1');
  });

  it('moves when its replica is unhealthy, also while its turn is held, and stays where it went', () => {
    const scenario = new Scenario([replica('r1', { maxConcurrent: 1 }), replica('r2')]);
    scenario.serve('t1', { run: 'r' });
    load(scenario, 1);
    expect(scenario.arrive('t2', { run: 'r' })).toEqual([]);
    expect(scenario.probe('r1', null, false)).toEqual(['t2@r2']);
    scenario.finish('t2', 'paused');
    scenario.probe('r1');
    expect(scenario.serve('t3', { run: 'r' })).toBe('r2');
  });
});

describe('a run with a turn in flight', () => {
  it('sends its side turns to the same replica', () => {
    const scenario = new Scenario(two);
    scenario.arrive('main', { run: 'r' });
    expect(scenario.arrive('side', { run: 'r' })).toEqual(['side@r1']);
    expect(scenario.arrive('other')).toEqual(['other@r2']);
  });

  it('counts as paused when its main turn pauses before a side turn is done', () => {
    const scenario = new Scenario(two);
    scenario.arrive('main', { run: 'r' });
    scenario.arrive('side', { run: 'r' });
    scenario.finish('main', 'paused');
    scenario.finish('side', 'done');
    expect(scenario.run('r')).toMatchObject({ rest: 'paused', resident: true, pauses: 1 });
  });

  it('keeps a home for each model', () => {
    const scenario = new Scenario([
      replica('big', { models: ['big'] }),
      replica('small', { models: ['small'] }),
    ]);
    scenario.arrive('main', { run: 'r', model: 'big' });
    expect(scenario.arrive('title', { run: 'r', model: 'small' })).toEqual(['title@small']);
    scenario.finish('main', 'paused');
    scenario.finish('title', 'done');
    expect(scenario.arrive('next', { run: 'r', model: 'big' })).toEqual(['next@big']);
  });

  it('is not held up by its own turn for another model', () => {
    const scenario = new Scenario([
      replica('big', { models: ['big'], maxConcurrent: 1 }),
      replica('small', { models: ['small'] }),
    ]);
    scenario.arrive('busy', { model: 'big' });
    scenario.arrive('main', { run: 'r', model: 'big' });
    expect(scenario.arrive('title', { run: 'r', model: 'small' })).toEqual(['title@small']);
  });
});

describe('a failed turn', () => {
  it('frees its place at once and leaves its run idle', () => {
    const scenario = new Scenario([replica('r1', { maxConcurrent: 1 })]);
    scenario.arrive('t1', { run: 'r' });
    scenario.arrive('next');
    expect(scenario.finish('t1', 'failed')).toEqual(['next@r1']);
    expect(scenario.run('r')).toMatchObject({ rest: 'idle', resident: false });
  });

  it('leaves its run with the replica that has served it', () => {
    const scenario = new Scenario(two);
    scenario.serve('t1', { run: 'r' });
    scenario.serve('t2', { run: 'r' }, 'failed');
    load(scenario, 1);
    expect(scenario.serve('t2-again', { run: 'r' })).toBe('r1');
  });

  it('binds no run to a replica that never served it', () => {
    const scenario = new Scenario(two);
    scenario.arrive('t1', { run: 'r' });
    scenario.finish('t1', 'failed');
    expect(scenario.run('r')?.lastReplica).toBeNull();
    expect(scenario.arrive('t1', { run: 'r' })).toEqual(['t1@r2']);
  });

  it('is tried elsewhere first when its proxy repeats it and its run may move', () => {
    const scenario = new Scenario(two);
    scenario.serve('t1', { run: 'r' }, 'done');
    scenario.arrive('t2', { run: 'r' });
    scenario.finish('t2', 'failed');
    expect(scenario.arrive('t2', { run: 'r' })).toEqual(['t2@r2']);
    scenario.finish('t2', 'failed');
    expect(scenario.serve('t3', { run: 'r' })).toBe('r1');
  });

  it('is repeated on its replica when its run was pinned there', () => {
    const scenario = new Scenario(two);
    scenario.serve('t1', { run: 'r' }, 'paused');
    scenario.arrive('t2', { run: 'r' });
    scenario.finish('t2', 'failed');
    expect(scenario.arrive('t2', { run: 'r' })).toEqual(['t2@r1']);
  });
});

const g07 = caseFile('G07');
const g07Given = z
  .object({
    replicas: z.array(z.string()),
    session: z.string(),
    steps: z.array(z.looseObject({ do: z.string() })),
  })
  .parse(g07.given);
const g07Expect = z.object({ served_by: z.array(z.string()), client_errors: z.literal(0) }).parse(g07.expect);

describe(`${g07.id} ${g07.title}`, () => {
  const [first] = g07Given.replicas;
  const pool = g07Given.replicas.map((id) => replica(id));

  it('the steps of the case', () => {
    const scenario = new Scenario(pool);
    const served: (string | undefined)[] = [];
    const members = new Set(g07Given.replicas);
    const setPool = (): unknown =>
      scenario.send({ type: 'poolChanged', replicas: [...members].map((id) => replica(id)) });
    for (const { do: what } of g07Given.steps) {
      const [subject = '', verb = ''] = what.split(' ');
      if (subject === 'turn') served.push(scenario.serve(verb, { run: g07Given.session }));
      else if (verb === 'drains') scenario.probe(subject, null, false);
      else {
        if (verb === 'removed') members.delete(subject);
        else members.add(subject);
        setPool();
        if (verb === 'returns') scenario.probe(subject);
      }
    }
    expect(served).toEqual(g07Expect.served_by);
  });

  it('whichever replica goes, at whatever turn, no turn is lost and none moves while its replica is healthy', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('turn', 'lose', 'return'), { maxLength: 40 }), (steps) => {
        const scenario = new Scenario(pool);
        let home: string | undefined;
        let away: string | undefined;
        const wrong: unknown[] = [];
        for (const [index, what] of steps.entries()) {
          if (what === 'lose' && away === undefined) {
            away = home ?? first;
            scenario.probe(away ?? '', null, false);
          } else if (what === 'return' && away !== undefined) {
            scenario.probe(away);
            away = undefined;
          } else if (what === 'turn') {
            const served = scenario.serve(`t${index}`, { run: 's' });
            const stayed = home === undefined || home === away || served === home;
            if (served === undefined || served === away || !stayed) wrong.push({ index, served, home, away });
            home = served;
          }
        }
        expect(wrong).toEqual([]);
      }),
    );
  });
});

it('serves a session across a replica that goes and returns, without an error', () => {
  const scenario = new Scenario(two);
  const served = [scenario.serve('1', { run: 's1' }), scenario.serve('2', { run: 's1' })];
  scenario.send({ type: 'poolChanged', replicas: [replica('r2')] });
  served.push(scenario.serve('3', { run: 's1' }));
  scenario.send({ type: 'poolChanged', replicas: two });
  scenario.probe('r1');
  served.push(scenario.serve('4', { run: 's1' }));
  scenario.probe('r2', null, false);
  served.push(scenario.serve('5', { run: 's1' }));
  expect(served).toEqual(['r1', 'r1', 'r2', 'r2', 'r1']);
});

it('sends nothing to a replica that was never probed or is unhealthy', () => {
  const scenario = new Scenario(two);
  scenario.send({ type: 'poolChanged', replicas: [...two, replica('new')] });
  scenario.probe('r1', null, false);
  scenario.probe('r2', null, false);
  expect(scenario.arrive('t')).toEqual([]);
  expect(scenario.probe('new')).toEqual(['t@new']);
});

it('lets turns in flight end on a replica that left the pool, and then forgets it', () => {
  const scenario = new Scenario(two);
  scenario.arrive('t1', { run: 'r' });
  scenario.send({ type: 'poolChanged', replicas: [replica('r2')] });
  expect(scenario.arrive('t2')).toEqual(['t2@r2']);
  expect([...scenario.state.replicas.keys()]).toContain('r1');
  scenario.finish('t1', 'paused');
  expect([...scenario.state.replicas.keys()]).toEqual(['r2']);
  expect(scenario.serve('t3', { run: 'r' })).toBe('r2');
});
