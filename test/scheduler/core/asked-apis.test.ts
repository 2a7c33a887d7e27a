/** Rule 1 where an entry does not say its APIs: a replica is asked, and until then nothing is refused. */
import { describe, expect, it } from 'vitest';
import type { ProxyId } from '../../../contracts/ids.ts';
import { describePool } from '../../../scheduler/core/pool-view.ts';
import { describeStatus } from '../../../scheduler/core/status.ts';
import { admitted, rejected, replica, Scenario, spec, type TurnFields } from './scenario.ts';

function arrival(turn: string, fields: TurnFields = {}) {
  return { type: 'turnArrived', proxy: 'p' as ProxyId, spec: spec(turn, fields), heldForMs: 0 } as const;
}

/** A replica of the pool that no probe has reached yet, beside one that serves `n` by chat. */
function unprobed(fields: Record<string, unknown> = {}): Scenario {
  const other = replica('other', { models: ['n'], apis: ['chat'] });
  const scenario = new Scenario([other]);
  scenario.send({ type: 'poolChanged', replicas: [replica('a', fields), other] });
  return scenario;
}

const apisOf = (scenario: Scenario, id = 'a'): readonly string[] | undefined =>
  describePool(scenario.state).find((one) => one.id === id)?.apis;

describe('a replica that was not asked yet', () => {
  it('holds what it might serve, and once it tells admits that and rejects the rest', () => {
    const scenario = unprobed();
    expect(rejected(scenario.send(arrival('responses', { api: 'responses' })))).toEqual([]);
    expect(rejected(scenario.send(arrival('vectors', { api: 'embeddings' })))).toEqual([]);
    const effects = scenario.send({
      type: 'replicaProbed',
      replica: replica('a').id,
      healthy: true,
      apis: ['responses', 'completions'],
    });
    expect(admitted(effects)).toEqual(['responses@a']);
    expect(rejected(effects)).toEqual(['vectors:unknown_model']);
  });

  it('holds turns of its model while it is unhealthy, whatever others have told', () => {
    const scenario = unprobed();
    scenario.send({ type: 'replicaProbed', replica: replica('a').id, healthy: false });
    expect(rejected(scenario.send(arrival('t', { api: 'messages' })))).toEqual([]);
    expect(rejected(scenario.send(arrival('any', { api: 'messages', model: null })))).toEqual([]);
    expect(rejected(scenario.send(arrival('other', { api: 'messages', model: 'x' })))).toEqual([
      'other:unknown_model',
    ]);
    expect(scenario.probe('a', null, true, undefined, ['messages'])).toEqual(['t@a', 'any@a']);
  });

  it('serves chat until then', () => {
    const scenario = unprobed();
    expect(apisOf(scenario)).toEqual(['chat']);
    expect(scenario.arrive('t')).toEqual([]);
    expect(scenario.send({ type: 'replicaProbed', replica: replica('a').id, healthy: true })).toMatchObject([
      { type: 'admit', turn: 't' },
    ]);
  });

  it('is not waited for by turns that its kind cannot serve', () => {
    const scenario = unprobed({ kind: 'one-shot' });
    expect(rejected(scenario.send(arrival('t', { api: 'messages' })))).toEqual(['t:unknown_model']);
    expect(rejected(scenario.send(arrival('scores', { api: 'score' })))).toEqual([]);
  });
});

describe('a replica that does not tell', () => {
  it('serves what its kind is there for, and what was held for more is rejected', () => {
    const scenario = unprobed();
    scenario.arrive('chat');
    scenario.arrive('responses', { api: 'responses' });
    const effects = scenario.send({
      type: 'replicaProbed',
      replica: replica('a').id,
      healthy: true,
      apis: null,
    });
    expect(admitted(effects)).toEqual(['chat@a']);
    expect(rejected(effects)).toEqual(['responses:unknown_model']);
  });

  it('serves what it has told before', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', null, true, undefined, ['responses']);
    scenario.probe('a', null, true, undefined, null);
    expect(scenario.arrive('t', { api: 'responses' })).toEqual(['t@a']);
  });
});

describe('what a replica has told', () => {
  it('survives phases in which it is unhealthy', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', null, true, undefined, ['responses']);
    scenario.send({ type: 'replicaProbed', replica: replica('a').id, healthy: false });
    expect(apisOf(scenario)).toEqual(['responses']);
    expect(rejected(scenario.send(arrival('t', { api: 'responses' })))).toEqual([]);
    expect(scenario.send({ type: 'replicaProbed', replica: replica('a').id, healthy: true })).toMatchObject([
      { type: 'admit', turn: 't' },
    ]);
  });

  it.each<[string, Record<string, unknown>]>([
    ['another address', { url: 'http://elsewhere' }],
    ['another engine', { engine: 'sglang' }],
    ['another kind', { kind: 'one-shot' }],
  ])('is forgotten when its entry names %s', (_name, fields) => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', null, true, undefined, ['responses', 'embeddings']);
    scenario.send({ type: 'poolChanged', replicas: [replica('a', fields)] });
    expect(apisOf(scenario)).toEqual(fields['kind'] === 'one-shot' ? ['classify'] : ['chat']);
    // It has to be asked again: what it might serve is held.
    expect(rejected(scenario.send(arrival('t', { api: 'embeddings' })))).toEqual([]);
    expect(scenario.probe('a', null, true, undefined, ['embeddings'])).toEqual(['t@a']);
  });

  it('stays when its entry changes otherwise', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', null, true, undefined, ['responses']);
    scenario.send({ type: 'poolChanged', replicas: [replica('a', { maxConcurrent: 3 })] });
    expect(scenario.arrive('t', { api: 'responses' })).toEqual(['t@a']);
  });

  it('gives way to what its entry says, as long as it says something', () => {
    const scenario = new Scenario([replica('a', { apis: ['chat'] })]);
    scenario.probe('a', null, true, undefined, ['responses']);
    expect(apisOf(scenario)).toEqual(['chat']);
    expect(rejected(scenario.send(arrival('t', { api: 'responses' })))).toEqual(['t:unknown_model']);
    scenario.send({ type: 'poolChanged', replicas: [replica('a')] });
    expect(rejected(scenario.send(arrival('u', { api: 'responses' })))).toEqual([]);
    expect(scenario.probe('a', null, true, undefined, ['responses'])).toEqual(['u@a']);
  });

  it('moves held turns when it is something else later', () => {
    const scenario = new Scenario([replica('a', { maxConcurrent: 1 }), replica('b', { apis: ['chat'] })]);
    scenario.probe('a', null, true, undefined, ['responses']);
    scenario.arrive('first', { api: 'responses' });
    scenario.arrive('second', { api: 'responses' });
    const effects = scenario.send({
      type: 'replicaProbed',
      replica: replica('a').id,
      healthy: true,
      apis: ['chat'],
    });
    expect(rejected(effects)).toEqual(['second:unknown_model']);
    expect(scenario.replicaOf('first')).toBe('a');
  });

  it('is shown to proxies and in the status', () => {
    const scenario = new Scenario([replica('a')]);
    scenario.probe('a', null, true, undefined, ['chat', 'responses']);
    expect(apisOf(scenario)).toEqual(['chat', 'responses']);
    expect(describeStatus(scenario.state).replicas[0]?.apis).toEqual(['chat', 'responses']);
  });
});
