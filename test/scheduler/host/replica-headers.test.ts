import { expect, it } from 'vitest';
import type { Api, Engine } from '../../../contracts/config-file.ts';
import { replicaHeaders } from '../../../scheduler/host/replica-headers.ts';

const bearer = { authorization: 'Bearer k' };

it.each<[Engine, readonly Api[] | undefined, object]>([
  ['vllm', undefined, bearer],
  ['vllm', ['messages'], bearer],
  ['none', undefined, bearer],
  ['none', ['chat', 'messages'], bearer],
  ['none', ['messages'], { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }],
])('an engine %s that serves %s is shown its key as it wants it', (engine, apis, headers) => {
  const entry = apis === undefined ? { engine } : { engine, apis: [...apis] };
  expect(replicaHeaders(entry, 'k')).toEqual(headers);
});

it('a replica without a key is shown none', () => {
  expect(replicaHeaders({ engine: 'none', apis: ['messages'] }, null)).toEqual({});
});
