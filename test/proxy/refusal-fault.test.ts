/** What a client is told whose turn no replica can take. */
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../contracts/error-codes.ts';
import { unservedFault } from '../../proxy/refusal-fault.ts';
import { replica } from './stack.ts';

const pool = [
  replica('a', 'http://a', { models: ['m'], apis: ['chat', 'completions'] }),
  replica('b', 'http://b', { models: ['m', 'n'], apis: ['chat'], healthy: false }),
  replica('judge', 'http://j', { models: ['guard'], apis: ['classify'], kind: 'one-shot' }),
];

describe('a model that is served, but not through this endpoint', () => {
  it('is refused with what it is served through and what can be done', () => {
    const fault = unservedFault({ model: 'm', api: 'responses' }, pool);
    expect([fault.code, errorCodes[fault.code].status]).toEqual(['unsupported_api', 404]);
    expect(fault.message).toBe(
      `no replica serves responses for model 'm'; a, b serve chat, completions: add "responses" to the apis of one that can, or send this request to another endpoint`,
    );
  });

  it('is that one however its replicas are', () => {
    const fault = unservedFault({ model: 'n', api: 'embeddings' }, pool);
    expect(fault.code).toBe('unsupported_api');
    expect(fault.message).toContain("for model 'n'; b serves chat:");
  });

  it('is not to be mended where its kind of replica never serves it', () => {
    const fault = unservedFault({ model: 'guard', api: 'chat' }, pool);
    expect([fault.code, fault.message]).toEqual([
      'unsupported_api',
      "no replica serves chat for model 'guard'; judge serves classify: send this request to another endpoint",
    ]);
    expect(unservedFault({ model: 'guard', api: 'embeddings' }, pool).message).toContain('add "embeddings"');
  });

  it('may be any model', () => {
    const fault = unservedFault({ model: null, api: 'rerank' }, pool);
    expect([fault.code, fault.message]).toEqual([
      'unsupported_api',
      'no replica serves rerank; a, b, judge serve chat, completions, classify: add "rerank" to the apis of one that can, or send this request to another endpoint',
    ]);
  });

  it('names a few of many replicas', () => {
    const many = Array.from({ length: 40 }, (_, index) =>
      replica(`r${index}`, 'http://r', { models: ['m'] }),
    );
    expect(unservedFault({ model: 'm', api: 'messages' }, many).message).toContain(
      '; r0, r1, r2 and 37 more serve chat:',
    );
  });
});

describe('a model that nobody serves', () => {
  it.each([
    ['chat', "no generative replica serves model 'x'"],
    ['embeddings', "no replica serves model 'x'"],
  ] as const)('is unknown to %s', (api, message) => {
    const fault = unservedFault({ model: 'x', api }, pool);
    expect([fault.code, fault.message]).toEqual(['unknown_model', message]);
  });

  it('is unknown also when the pool has changed meanwhile', () => {
    expect(unservedFault({ model: 'm', api: 'chat' }, pool).code).toBe('unknown_model');
    expect(unservedFault({ model: null, api: 'chat' }, []).code).toBe('unknown_model');
  });
});
