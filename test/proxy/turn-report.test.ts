import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { RelayResult } from '../../proxy/forward/relay.ts';
import { nothingRead, type ReplyFacts } from '../../proxy/reply/reply-facts.ts';
import { reasonOf, reportOf, upstreamErrorKind } from '../../proxy/turn-report.ts';
import { caseFile } from '../case-file.ts';

const facts = (more: Partial<ReplyFacts> = {}): ReplyFacts => ({ ...nothingRead, complete: true, ...more });
const passed = (status: number, more: Partial<ReplyFacts> = {}, errorText = ''): RelayResult => ({
  kind: 'passed',
  status,
  facts: facts(more),
  errorText,
});
const kept: RelayResult = { kind: 'kept', reply: { status: 503, headers: [], body: Buffer.alloc(0) } };

describe('what the scheduler is told', () => {
  it.each<[string, RelayResult, string]>([
    ['a final answer', passed(200, { finishReason: 'stop' }), 'done'],
    ['a reply that calls tools', passed(200, { callsTools: true, finishReason: 'stop' }), 'paused'],
    ['an error inside a 200', passed(200, { failed: true, callsTools: true }), 'failed'],
    ['a bad request', passed(400), 'failed'],
    ['too many requests', passed(429), 'refused'],
    ['a fault of the engine', passed(500), 'refused'],
    ['a full queue', kept, 'refused'],
    ['an engine that cannot be reached', { kind: 'unreachable', message: 'x' }, 'failed'],
    ['an engine that sends nothing', { kind: 'idle' }, 'failed'],
    [
      'a stream that broke off',
      { kind: 'broken', status: 200, facts: facts({ callsTools: true }), message: 'x' },
      'failed',
    ],
    [
      'a client that left',
      { kind: 'client-gone', status: 200, facts: facts({ callsTools: true }) },
      'failed',
    ],
    ['a client that stopped reading', { kind: 'client-stalled', status: 200, facts: facts() }, 'failed'],
    ['a run that ended', { kind: 'aborted', reason: 'run_ended', status: null, facts: facts() }, 'failed'],
  ])('of %s', (_, result, outcome) => {
    expect(reportOf(result, 100).outcome).toBe(outcome);
  });

  it('names the tools of a pause, and only of a pause', () => {
    const names = { toolNames: new Set(['lookup']), callsTools: true };
    expect(reportOf(passed(200, names), 1).toolNames).toEqual(['lookup']);
    expect(reportOf(passed(200, { ...names, failed: true }), 1).toolNames).toBeUndefined();
  });

  it('books what a cut reply has cost: its usage, else what was seen of it', () => {
    const gone = (more: Partial<ReplyFacts>): RelayResult => ({
      kind: 'client-gone',
      status: 200,
      facts: facts(more),
    });
    expect(reportOf(gone({ outputPieces: 7 }), 100).usage).toEqual({
      promptTokens: 100,
      completionTokens: 7,
    });
    const usage = { promptTokens: 90, completionTokens: 6 };
    expect(reportOf(gone({ outputPieces: 7, usage }), 100).usage).toEqual(usage);
    expect(reportOf(gone({}), 100).usage).toBeNull();
  });
});

describe('what the log and the metrics are told', () => {
  it('blames the engine for its failures only', () => {
    expect(upstreamErrorKind(passed(200))).toBeNull();
    expect(upstreamErrorKind(passed(500))).toBe('status_500');
    expect(upstreamErrorKind(kept)).toBe('status_503');
    expect(upstreamErrorKind({ kind: 'idle' })).toBe('idle');
    expect(upstreamErrorKind({ kind: 'client-gone', status: null, facts: nothingRead })).toBeNull();
  });

  it('has words for everything that went wrong', () => {
    expect(reasonOf(passed(200))).toBeNull();
    expect(reasonOf(passed(502))).toBe('the engine answered 502');
    expect(reasonOf({ kind: 'unreachable', message: 'connect ECONNREFUSED' })).toBe('connect ECONNREFUSED');
    expect(reasonOf({ kind: 'aborted', reason: 'draining', status: null, facts: nothingRead })).toBe(
      'draining',
    );
  });
});

const g08 = caseFile('G08');
const g08Rows = z
  .object({ rows: z.array(z.object({ name: z.string(), status: z.number(), body: z.unknown() })) })
  .parse(g08.given).rows;
const g08Classes = z.object({ rows: z.array(z.looseObject({ class: z.string() })) }).parse(g08.expect).rows;

describe(`${g08.id} ${g08.title}`, () => {
  it.each(g08Rows.map((row, index) => [row.name, row, g08Classes[index]?.class ?? ''] as const))(
    '%s: the log names the class and repeats no word of the body',
    (_, { status, body }, kind) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const reason = reasonOf(passed(status, {}, text));
      expect(reason).toMatch(new RegExp(`^the engine answered ${status} \\(${kind}(: [a-z0-9, ]+)?\\)$`));
    },
  );
});
