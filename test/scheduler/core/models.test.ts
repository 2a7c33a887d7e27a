/** Rule 1: a turn goes only to replicas that serve its model over its API. */
import { describe, expect, it } from 'vitest';
import { admitted, rejected, replica, Scenario, spec, type TurnFields } from './scenario.ts';
import type { ProxyId } from '../../../contracts/ids.ts';

function arrival(turn: string, fields: TurnFields = {}) {
  return { type: 'turnArrived', proxy: 'p' as ProxyId, spec: spec(turn, fields), heldForMs: 0 } as const;
}

describe('a turn', () => {
  const pool = [
    replica('chat', { models: ['m', 'both'] }),
    replica('messages', { models: ['n', 'both'], apis: ['messages', 'embeddings'] }),
    replica('judge', { kind: 'one-shot', models: ['guard', 'm'] }),
  ];
  it.each<[string, TurnFields, string]>([
    ['of a model', { model: 'm' }, 'chat'],
    [
      'of a model that two replicas serve over different APIs',
      { model: 'both', api: 'messages' },
      'messages',
    ],
    ['without a model', { model: null }, 'chat'],
    ['without a model over the API of a one-shot replica', { model: null, api: 'classify' }, 'judge'],
    ['of a one-shot model', { model: 'guard', api: 'classify' }, 'judge'],
    ['for embeddings', { model: 'n', api: 'embeddings' }, 'messages'],
  ])('%s goes to a replica that serves it', (_name, fields, expected) => {
    expect(new Scenario(pool).arrive('t', fields)).toEqual([`t@${expected}`]);
  });

  it.each<[string, TurnFields]>([
    ['of a model nobody has', { model: 'x' }],
    ['of a model nobody serves over its API', { model: 'm', api: 'messages' }],
    ['over an API nobody speaks', { model: null, api: 'rerank' }],
    ['for chat with a model that only a one-shot replica has', { model: 'guard' }],
  ])('%s is rejected at once', (_name, fields) => {
    const scenario = new Scenario(pool);
    expect(rejected(scenario.send(arrival('t', fields)))).toEqual(['t:unknown_model']);
    expect(scenario.state.turns.size + scenario.state.runs.size + scenario.state.routes.size).toBe(0);
  });
});

describe('a pool that has not told its models', () => {
  const asked = { models: undefined };

  it('holds a turn until the first probe tells them, then admits or rejects it', () => {
    const scenario = new Scenario([replica('known')]);
    scenario.send({ type: 'poolChanged', replicas: [replica('a', asked), replica('known')] });
    expect(rejected(scenario.send(arrival('mine', { model: 'n' })))).toEqual([]);
    expect(rejected(scenario.send(arrival('unknown', { model: 'x' })))).toEqual([]);
    const effects = scenario.send({
      type: 'replicaProbed',
      replica: replica('a').id,
      healthy: true,
      models: ['n'],
    });
    expect(admitted(effects)).toEqual(['mine@a']);
    expect(rejected(effects)).toEqual(['unknown:unknown_model']);
  });

  it('holds turns as long as no replica at all has told its models', () => {
    const scenario = new Scenario([replica('a', asked)]);
    scenario.probe('a', null, false);
    expect(rejected(scenario.send(arrival('t')))).toEqual([]);
    expect(scenario.probe('a', null, true, ['m'])).toEqual(['t@a']);
  });

  it('rejects once another replica has told and the silent one was probed', () => {
    const scenario = new Scenario([replica('down', asked), replica('a')]);
    scenario.probe('down', null, false);
    expect(rejected(scenario.send(arrival('t', { model: 'x' })))).toEqual(['t:unknown_model']);
  });
});

it('holds a turn of a known model while no replica of it is healthy', () => {
  const scenario = new Scenario([replica('a')]);
  scenario.probe('a', null, false);
  expect(scenario.arrive('t')).toEqual([]);
  expect(scenario.pass(60_000)).toEqual([]);
  expect(scenario.probe('a')).toEqual(['t@a']);
});

it('rejects held turns whose model leaves the pool', () => {
  const scenario = new Scenario([replica('a', { models: ['m', 'n'], maxConcurrent: 1 })]);
  scenario.arrive('first');
  scenario.arrive('gone', { model: 'n' });
  scenario.arrive('kept');
  const effects = scenario.send({ type: 'poolChanged', replicas: [replica('a', { maxConcurrent: 1 })] });
  expect(rejected(effects)).toEqual(['gone:unknown_model']);
  expect(scenario.finish('first')).toEqual(['kept@a']);
});
