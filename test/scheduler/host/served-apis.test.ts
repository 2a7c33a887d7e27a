/** How the answers of engines about their APIs are read. */
import { describe, expect, it } from 'vitest';
import type { Api } from '../../../contracts/config-file.ts';
import {
  getRule,
  narrowToKind,
  narrowToModel,
  postRule,
  readPage,
  readStatuses,
} from '../../../scheduler/host/served-apis.ts';

const apis = [
  'chat',
  'completions',
  'responses',
  'messages',
  'embeddings',
  'rerank',
  'score',
  'classify',
] as const;

/** Each API's status, in the order above, after that of an endpoint that cannot be. */
function statuses(control: number | null, ...each: (number | null)[]): Map<Api | 'control', number | null> {
  return new Map<Api | 'control', number | null>([
    ['control', control],
    ...apis.map((api, index) => [api, each[index] ?? null] as const),
  ]);
}

describe('an OpenAPI document', () => {
  it('tells the APIs whose paths take a POST', () => {
    const page = {
      openapi: '3.1.0',
      paths: {
        '/health': { get: {} },
        '/v1/models': { get: {} },
        '/v1/chat/completions': { post: { operationId: 'x' } },
        '/v1/responses': { post: {} },
        '/v1/responses/{response_id}': { get: {} },
        '/v1/embeddings': { get: {} },
        '/classify': { post: {} },
      },
    };
    expect(readPage(page)).toEqual(['chat', 'responses', 'classify']);
  });

  it.each([undefined, null, 'text', [], {}, { paths: [] }, { paths: { '/v1/chat/completions': null } }])(
    'is not seen in %j',
    (page) => {
      expect(readPage(page)).toBeNull();
    },
  );
});

describe('statuses of a GET', () => {
  it('tell that 405 is an endpoint and 404 none', () => {
    expect(readStatuses(statuses(404, 405, 405, 404, 404, 405, 404, 404, 404), getRule)).toEqual([
      'chat',
      'completions',
      'embeddings',
    ]);
    expect(readStatuses(statuses(404, 404, 404, 404, 404, 404, 404, 404, 404), getRule)).toEqual([]);
  });

  it.each([
    ['an endpoint that cannot be is there too', statuses(405, 405, 405, 405, 405, 405, 405, 405, 405)],
    ['everything is a page', statuses(200, 200, 200, 200, 200, 200, 200, 200, 200)],
    ['a key is missing', statuses(401, 401, 401, 401, 401, 401, 401, 401, 401)],
    ['one answer is missing', statuses(404, 405, null, 404, 404, 404, 404, 404, 404)],
    ['one answer is an error', statuses(404, 405, 405, 500, 404, 404, 404, 404, 404)],
  ])('tell nothing when %s', (_name, seen) => {
    expect(readStatuses(seen, getRule)).toBeNull();
  });
});

describe('statuses of a POST without JSON', () => {
  it('tell that 400 is an endpoint, 404 none and 501 one the server was not started for', () => {
    expect(readStatuses(statuses(404, 400, 400, 400, 500, 501, 501, 404, 404), postRule)).toEqual([
      'chat',
      'completions',
      'responses',
      'messages',
    ]);
  });

  it.each([200, 401, 403, 503])('tell nothing when one is %i', (status) => {
    expect(readStatuses(statuses(404, 400, 400, status, 404, 404, 404, 404, 404), postRule)).toBeNull();
  });
});

describe('a model that is known to generate or not', () => {
  it('takes away what SGLang registers for the other sort', () => {
    expect(narrowToModel(apis, true)).toEqual(['chat', 'completions', 'responses', 'messages', 'score']);
    expect(narrowToModel(apis, false)).toEqual(['embeddings', 'rerank', 'score', 'classify']);
  });

  it('takes nothing away from an answer that could not be read', () => {
    expect(narrowToModel(null, true)).toBeNull();
  });
});

describe('a list with APIs of both sorts', () => {
  it('is cut down to the kind of the entry', () => {
    expect(narrowToKind(apis, 'generative')).toEqual(['chat', 'completions', 'responses', 'messages']);
    expect(narrowToKind(apis, 'one-shot')).toEqual(['embeddings', 'rerank', 'score', 'classify']);
  });

  it.each<{ told: readonly Api[] | null }>([
    { told: ['chat', 'responses'] },
    { told: ['embeddings', 'score'] },
    { told: [] },
    { told: null },
  ])('is not this one, which stays as it is: $told', ({ told }) => {
    expect(narrowToKind(told, 'generative')).toEqual(told);
    expect(narrowToKind(told, 'one-shot')).toEqual(told);
  });
});
