/** Proxies get lost and come back; a scheduler restarts and learns from them what there is. */
import { describe, expect, it } from 'vitest';
import type { ReplicaId, RunId } from '../../../contracts/ids.ts';
import type { ResyncRun } from '../../../contracts/link-protocol.ts';
import { createState } from '../../../scheduler/core/state.ts';
import { admitted, rejected, replica, Scenario, spec, type TurnFields } from './scenario.ts';

const one = [replica('a', { maxConcurrent: 1 })];
const a = 'a' as ReplicaId;

const held = (turn: string, heldForMs: number, fields: TurnFields = {}) => ({
  spec: spec(turn, fields),
  heldForMs,
});
const inFlight = (turn: string, fields: TurnFields = {}, on = a) => ({
  spec: spec(turn, fields),
  replica: on,
  started: true,
  admittedForMs: 1_000,
});
function resting(run: string, fields: Partial<ResyncRun> = {}): ResyncRun {
  const { class: serviceClass, caller } = spec('any');
  return {
    run: run as RunId,
    class: serviceClass,
    caller,
    replica: a,
    phase: 'paused',
    footprintTokens: 100,
    idleForMs: 1_000,
    ...fields,
  };
}

describe('when a proxy is lost', () => {
  it('its held turns are dropped at once, and no admission goes to it', () => {
    const scenario = new Scenario(one);
    scenario.resync('q');
    scenario.arrive('busy', { proxy: 'q' });
    scenario.arrive('mine');
    scenario.arrive('other', { proxy: 'q' });
    scenario.lose();
    expect(scenario.state.heldTurns).toBe(1);
    expect(scenario.finish('busy', 'done', 'q')).toEqual(['other@a']);
  });

  it('its turns in flight keep their places for 30 s, then these are free', () => {
    const scenario = new Scenario(one);
    scenario.resync('q');
    scenario.arrive('mine');
    scenario.lose();
    scenario.arrive('other', { proxy: 'q' });
    expect(scenario.pass(29_000)).toEqual([]);
    expect(admitted(scenario.pass(1_000))).toEqual(['other@a']);
    expect([...scenario.state.proxies.keys()]).toEqual(['q']);
  });

  it('its turns in flight stay when it comes back in time', () => {
    const scenario = new Scenario(one);
    scenario.arrive('mine', { run: 'r' });
    scenario.lose();
    scenario.pass(20_000);
    scenario.resync('p', { inFlight: [inFlight('mine', { run: 'r' })] });
    scenario.pass(60_000);
    expect(scenario.replicaOf('mine')).toBe('a');
    scenario.finish('mine', 'paused');
    expect(scenario.run('r')).toMatchObject({ rest: 'paused', turns: 1 });
  });

  it('a report of it that comes late changes nothing', () => {
    const scenario = new Scenario(one);
    scenario.arrive('mine');
    scenario.lose();
    expect(scenario.arrive('late')).toEqual([]);
    expect(scenario.state.turns.size).toBe(1);
  });
});

describe('a resync', () => {
  it('frees the places of turns that ended while the link was down', () => {
    const scenario = new Scenario(one);
    scenario.arrive('ended', { run: 'r' });
    scenario.arrive('held', { run: 's' });
    scenario.nowMs += 5_000;
    const effects = scenario.resync('p', {
      held: [held('held', 4_000, { run: 's' })],
      runs: [resting('r', { idleForMs: 2_000 })],
    });
    expect(admitted(effects)).toEqual(['held@a']);
    expect(scenario.run('r')).toMatchObject({ rest: 'paused', resident: true });
  });

  it('holds a turn again whose admission never reached the proxy, at its old place', () => {
    const scenario = new Scenario(one);
    scenario.arrive('first');
    scenario.arrive('second');
    const effects = scenario.resync('p', { held: [held('second', 5_000), held('first', 9_000)] });
    expect(admitted(effects)).toEqual(['first@a']);
  });

  it('forgets held turns whose clients left meanwhile', () => {
    const scenario = new Scenario(one);
    scenario.arrive('busy');
    scenario.arrive('gone');
    scenario.resync('p', { inFlight: [inFlight('busy')] });
    expect(scenario.state.heldTurns).toBe(0);
  });

  it('said twice changes nothing', () => {
    const scenario = new Scenario(one);
    const state = { inFlight: [inFlight('busy')], held: [held('waits', 100)], runs: [resting('r')] };
    scenario.resync('p', state);
    const before = JSON.stringify([...scenario.state.turns.keys()]);
    expect(scenario.resync('p', state)).toEqual([]);
    expect(JSON.stringify([...scenario.state.turns.keys()])).toBe(before);
  });

  it('that names a model nobody serves gets that turn rejected', () => {
    const scenario = new Scenario(one);
    expect(rejected(scenario.resync('p', { held: [held('t', 0, { model: 'x' })] }))).toEqual([
      't:unknown_model',
    ]);
  });

  it('does not undo what is known better', () => {
    const scenario = new Scenario([replica('a'), replica('b')]);
    scenario.serve('t1', { run: 'r' }, 'paused');
    scenario.resync('q', { runs: [resting('r', { replica: 'b' as ReplicaId, idleForMs: 60_000 })] });
    expect(scenario.run('r')?.lastReplica).toBe('a');
  });

  it('of a proxy with a turn in flight on an unknown replica counts it until it ends', () => {
    const scenario = new Scenario(one);
    scenario.resync('p', { inFlight: [inFlight('far', {}, 'gone' as ReplicaId)] });
    expect(scenario.state.replicas.get('gone' as ReplicaId)).toMatchObject({ member: false, inFlight: 1 });
    scenario.finish('far');
    expect([...scenario.state.replicas.keys()]).toEqual(['a']);
  });
});

describe('a scheduler that has restarted', () => {
  /** Knows its pool, not probed, and no proxy. */
  function restarted(): Scenario {
    const scenario = new Scenario(one);
    const fresh = createState(scenario.state.policy, {});
    Object.assign(scenario.state, fresh);
    scenario.send({ type: 'poolChanged', replicas: [replica('a', { maxConcurrent: 2 }), replica('b')] });
    return scenario;
  }

  it('keeps places, order and affinity, and hears every proxy before it admits', () => {
    const scenario = restarted();
    scenario.probe('b', null, false);
    scenario.probe('a');
    const first = scenario.resync('p', {
      inFlight: [inFlight('running')],
      held: [held('third', 2_000), held('batch', 60_000, { class: 'batch' })],
      runs: [resting('r')],
    });
    expect(first).toEqual([]);
    scenario.nowMs += 900;
    expect(
      scenario.resync('q', {
        inFlight: [inFlight('running-too')],
        held: [held('first', 9_000), held('second', 4_000), held('resumes', 10, { run: 'r' })],
      }),
    ).toEqual([]);
    scenario.nowMs += 700;
    expect(scenario.send({ type: 'ticked' })).toEqual([]);
    const order: string[] = [];
    for (const [turn, proxy] of [
      ['running', 'p'],
      ['running-too', 'q'],
      ['resumes', 'q'],
      ['first', 'q'],
      ['second', 'q'],
    ] as const) {
      order.push(...scenario.finish(turn, 'done', proxy));
    }
    expect(order).toEqual(['resumes@a', 'first@a', 'second@a', 'third@a', 'batch@a']);
  });

  it('does not wait for others when the first proxy brings nothing but held turns', () => {
    const scenario = restarted();
    scenario.probe('a');
    expect(admitted(scenario.resync('p', { held: [held('t', 100)] }))).toEqual(['t@a']);
    expect(scenario.arrive('u')).toEqual(['u@a']);
  });

  it('that took over waits for as many proxies as there were, and no longer', () => {
    const scenario = restarted();
    scenario.probe('a');
    scenario.send({ type: 'tookOver', proxies: 2 });
    expect(scenario.resync('p', { held: [held('late', 100), held('later', 50)] })).toEqual([]);
    scenario.nowMs += 20;
    const all = scenario.resync('q', { held: [held('early', 900)], inFlight: [inFlight('running')] });
    expect(admitted(all)).toEqual(['early@a']);
    expect(scenario.finish('running', 'done', 'q')).toEqual(['late@a']);
  });

  it('that took over waits for a proxy that is gone as long as after any restart', () => {
    const scenario = restarted();
    scenario.probe('a');
    scenario.send({ type: 'tookOver', proxies: 3 });
    expect(scenario.resync('p', { held: [held('t', 100)] })).toEqual([]);
    scenario.nowMs += 1_400;
    expect(scenario.resync('q')).toEqual([]);
    scenario.nowMs += 100;
    expect(admitted(scenario.send({ type: 'ticked' }))).toEqual(['t@a']);
  });

  it('that took over from one without proxies, or does not know, waits for none', () => {
    for (const proxies of [0, 1, null]) {
      const scenario = restarted();
      scenario.probe('a');
      scenario.send({ type: 'tookOver', proxies });
      expect(admitted(scenario.resync('p', { held: [held('t', 100)] }))).toEqual(['t@a']);
    }
  });

  it('keeps the reservation of a paused run for what is left of it', () => {
    const scenario = restarted();
    scenario.probe('a');
    scenario.resync('p', {
      runs: [resting('fresh', { idleForMs: 14_000 }), resting('old', { idleForMs: 16_000 })],
    });
    scenario.nowMs += 500;
    scenario.send({ type: 'ticked' });
    expect(scenario.run('fresh')?.resident).toBe(true);
    expect(scenario.run('old')?.resident).toBe(false);
    scenario.nowMs += 600;
    scenario.send({ type: 'ticked' });
    expect(scenario.run('fresh')?.resident).toBe(false);
  });
});
