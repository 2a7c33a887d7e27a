import { describe, expect, it } from 'vitest';
import type { RelayResult } from '../../../proxy/forward/relay.ts';
import { spentOf } from '../../../proxy/rate-limits/spent.ts';
import { nothingRead } from '../../../proxy/reply/reply-facts.ts';

const facts = nothingRead;
const reply = { status: 503, headers: [], body: Buffer.alloc(0) };
const usage = { promptTokens: 7, completionTokens: 3 };

describe('what an attempt has cost', () => {
  it.each<[string, RelayResult]>([
    ['could not be reached', { kind: 'unreachable', message: 'refused' }],
    ['has a full queue', { kind: 'kept', reply }],
    ['refuses', { kind: 'passed', status: 400, facts, errorText: '' }],
  ])('is nothing when the engine %s', (_what, result) => {
    expect(spentOf(result, { outcome: 'failed' }, 100)).toBeNull();
  });

  it.each<[string, RelayResult]>([
    ['answered', { kind: 'passed', status: 200, facts, errorText: '' }],
    ['broke off', { kind: 'broken', status: 200, facts, message: 'reset' }],
    ['fell silent', { kind: 'idle' }],
    ['was working when the client left', { kind: 'client-gone', status: null, facts }],
    ['was stopped', { kind: 'aborted', reason: 'run_ended', status: 200, facts }],
  ])('is the estimate when the engine %s and told no usage', (_what, result) => {
    expect(spentOf(result, { outcome: 'failed' }, 100)).toEqual({ promptTokens: 100, completionTokens: 0 });
  });

  it('is the usage that was told, whatever came of it', () => {
    const broken: RelayResult = { kind: 'broken', status: 200, facts, message: 'reset' };
    expect(spentOf(broken, { outcome: 'failed', usage }, 100)).toEqual(usage);
  });
});
