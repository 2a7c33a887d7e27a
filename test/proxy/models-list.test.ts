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
      replicas: [
        { id: 'a', kind: 'generative', apis: ['chat'], healthy: true },
        { id: 'b', kind: 'generative', apis: ['chat'], healthy: false },
      ],
    },
  });
});

it('names the models whose turns wait because no healthy replica serves them', () => {
  expect(modelsWithoutReplica(pool)).toEqual(['o']);
  expect(modelsWithoutReplica([])).toEqual([]);
});
