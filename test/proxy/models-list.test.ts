import { expect, it } from 'vitest';
import { listModels, modelsWithoutReplica } from '../../proxy/models-list.ts';
import { replica } from './stack.ts';

const pool = [
  replica('a', 'http://a', { models: ['m', 'n'] }),
  replica('b', 'http://b', { models: ['m'], healthy: false }),
  replica('c', 'http://c', { models: ['o'], healthy: false, kind: 'one-shot', apis: ['classify'] }),
];

it('lists each model of the pool once, with the replicas that serve it and their health', () => {
  const { object, data } = listModels(pool);
  expect(object).toBe('list');
  expect(data.map(({ id }) => id)).toEqual(['m', 'n', 'o']);
  expect(data[0]).toEqual({
    id: 'm',
    object: 'model',
    created: 0,
    owned_by: 'fermata',
    fermata: {
      images: false,
      replicas: [
        { id: 'a', kind: 'generative', apis: ['chat'], healthy: true },
        { id: 'b', kind: 'generative', apis: ['chat'], healthy: false },
      ],
    },
  });
});

it.each([
  ['its only replica takes them', true, [{ images: true }]],
  [
    'every replica takes them, also one that is not healthy now',
    true,
    [{ images: true }, { images: true, healthy: false }],
  ],
  ['one replica lacks them', false, [{ images: true }, { images: false }]],
  ['an unhealthy replica lacks them', false, [{ images: true }, { images: false, healthy: false }]],
  ['no replica takes them', false, [{}, {}]],
  [
    'a one-shot replica beside them lacks them',
    true,
    [{ images: true }, { kind: 'one-shot', apis: ['classify'] }],
  ],
  ['only a one-shot replica serves it', false, [{ images: true, kind: 'one-shot', apis: ['classify'] }]],
])('tells of a model whether it takes images: %s', (_when, images, replicas) => {
  const of = replicas.map((more, index) =>
    replica(`r${index}`, `http://r${index}`, { models: ['m'], ...more }),
  );
  const beside = replica('other', 'http://other', { models: ['n'], images: !images });
  expect(listModels([...of, beside]).data[0]?.fermata.images).toBe(images);
});

it('names the models whose turns wait because no healthy replica serves them', () => {
  expect(modelsWithoutReplica(pool)).toEqual(['o']);
  expect(modelsWithoutReplica([])).toEqual([]);
});
