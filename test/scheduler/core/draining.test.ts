/** A pool that shrinks or grows while turns are in flight and held (case G10, as far as it is the core's). */
import { describe, expect, it } from 'vitest';
import { admitted, rejected, replica, replicaState, Scenario } from './scenario.ts';

const two = [replica('a', { maxConcurrent: 3 }), replica('b', { maxConcurrent: 1 })];

describe('a replica that leaves the pool', () => {
  /** Three streams on `a`, one on `b`, and two turns held. */
  function draining(): Scenario {
    const scenario = new Scenario(two, { batchShare: 0 });
    scenario.probe('b', null, false);
    for (const turn of ['s1', 's2', 's3']) expect(scenario.arrive(turn)).toEqual([`${turn}@a`]);
    scenario.probe('b');
    expect(scenario.arrive('s4')).toEqual(['s4@b']);
    for (const turn of ['q1', 'q2']) scenario.arrive(turn);
    expect(scenario.send({ type: 'poolChanged', replicas: [replica('b', { maxConcurrent: 1 })] })).toEqual(
      [],
    );
    return scenario;
  }

  it('keeps its streams until they end by themselves, and gets no new ones', () => {
    const scenario = draining();
    expect(replicaState(scenario, 'a')).toMatchObject({ member: false, inFlight: 3 });
    expect(scenario.finish('s1', 'done')).toEqual([]);
    expect(scenario.arrive('new')).toEqual([]);
    scenario.pass(600_000 - 5_000);
    expect(scenario.replicaOf('s3')).toBe('a');
    scenario.finish('s2', 'paused');
    scenario.finish('s3', 'done');
    expect(scenario.state.replicas.size).toBe(1);
  });

  it('loses no held turn: they go to those that stay', () => {
    const scenario = draining();
    expect(scenario.finish('s4')).toEqual(['q1@b']);
    expect(scenario.finish('q1')).toEqual(['q2@b']);
  });

  it('keeps no run: one that was paused there goes elsewhere', () => {
    const scenario = new Scenario(two);
    scenario.serve('1', { run: 'r' });
    scenario.send({ type: 'poolChanged', replicas: [replica('b')] });
    expect(scenario.run('r')?.resident).toBe(false);
    expect(scenario.arrive('2', { run: 'r' })).toEqual(['2@b']);
  });

  it('lets a held turn of a run that was bound to it go elsewhere', () => {
    const scenario = new Scenario([replica('a', { maxConcurrent: 1 }), replica('b')]);
    scenario.serve('1', { run: 'r' });
    scenario.probe('b', null, false);
    scenario.arrive('busy');
    scenario.probe('b');
    expect(scenario.arrive('2', { run: 'r' })).toEqual([]);
    expect(admitted(scenario.send({ type: 'poolChanged', replicas: [replica('b')] }))).toEqual(['2@b']);
  });

  it('as the last one that serves a model gets its held turns rejected', () => {
    const scenario = new Scenario([replica('a', { maxConcurrent: 1 }), replica('b', { models: ['n'] })]);
    scenario.arrive('s1');
    scenario.arrive('q1');
    const effects = scenario.send({ type: 'poolChanged', replicas: [replica('b', { models: ['n'] })] });
    expect(rejected(effects)).toEqual(['q1:unknown_model']);
    expect(scenario.replicaOf('s1')).toBe('a');
  });

  it('and returns starts with what it still has in flight, and with nothing known of its engine', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', { capacityTokens: 10_000 });
    scenario.arrive('s1', { promptTokens: 500 });
    scenario.send({ type: 'poolChanged', replicas: [replica('b')] });
    scenario.send({ type: 'poolChanged', replicas: [replica('a')] });
    expect(replicaState(scenario, 'a')).toMatchObject({ member: true, healthy: null, inFlight: 1 });
    expect(replicaState(scenario, 'a').ledger.contexts).toBe(1);
    expect(replicaState(scenario, 'a').capacity.reason).toBe('unlimited');
    expect(scenario.arrive('q1')).toEqual([]);
    expect(scenario.probe('a')).toEqual(['q1@a']);
  });
});

it('spreads held turns over a replica that joins, once it was found healthy', () => {
  const scenario = new Scenario([replica('a', { maxConcurrent: 1 })]);
  scenario.arrive('s1');
  scenario.arrive('q1');
  scenario.send({
    type: 'poolChanged',
    replicas: ['a', 'b'].map((id) => replica(id, { maxConcurrent: 1 })),
  });
  expect(scenario.probe('b')).toEqual(['q1@b']);
});
