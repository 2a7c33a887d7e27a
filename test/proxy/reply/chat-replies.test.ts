import { describe, expect, it } from 'vitest';
import { chatDialect } from '../../../proxy/reply/chat-replies.ts';
import { DialectBodyReader } from '../../../proxy/reply/dialect-body-reader.ts';
import { DialectStreamReader } from '../../../proxy/reply/dialect-stream-reader.ts';
import { maxEventLength } from '../../../proxy/reply/event-reader.ts';
import { outcomeOfReply, wasCut, type ReplyFacts } from '../../../proxy/reply/reply-facts.ts';
import { chunk, sse } from '../stack.ts';
import { readCase, streamCase, streamCases } from '../stream-cases.ts';

function readStream(writes: readonly Uint8Array[]): ReplyFacts {
  const reader = new DialectStreamReader(chatDialect);
  for (const write of writes) reader.feed(write);
  reader.end();
  return reader.facts();
}

function readText(...texts: string[]): ReplyFacts {
  return readStream(texts.map((text) => Buffer.from(text)));
}

function recut(writes: readonly Buffer[], size: number): Buffer[] {
  const whole = Buffer.concat(writes);
  const pieces: Buffer[] = [];
  for (let at = 0; at < whole.length; at += size) pieces.push(whole.subarray(at, at + size));
  return pieces;
}

function readBody(body: unknown): ReplyFacts {
  const reader = new DialectBodyReader(chatDialect);
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  reader.feed(bytes.subarray(0, 5));
  reader.feed(bytes.subarray(5));
  reader.end();
  return reader.facts();
}

const summary = (facts: ReplyFacts): Record<string, unknown> => ({
  outcome: outcomeOfReply(facts),
  cut: wasCut(facts),
  finish: facts.finishReason,
  ids: [...facts.toolCallIds],
  names: [...facts.toolNames],
  usage: facts.usage,
});

const done = { outcome: 'done', cut: false, finish: 'stop', ids: [], names: [], usage: null };
const cut = { outcome: 'done', cut: true, finish: null, ids: [], names: [], usage: null };
const paused = { ...done, outcome: 'paused', finish: 'tool_calls' };
const withUsage = { ...done, usage: { promptTokens: 11, completionTokens: 2 } };

/** What must be known of each recorded stream, whatever its cuts. */
const expected: Record<string, Record<string, unknown>> = {
  'S01 only': done,
  'S04 a_between_chunks': done,
  'S04 b_only_comments': cut,
  'S05 a_empty_choices': withUsage,
  'S05 b_no_choices_key': withUsage,
  'S05 c_null_choices': withUsage,
  'S05 d_on_finish_chunk': withUsage,
  'S05 e_empty_first': withUsage,
  'S06 a_single_no_index': { ...paused, ids: ['call_q1'], names: ['add'] },
  'S06 b_two_no_index': { ...paused, ids: ['call_q1', 'call_q2'], names: ['add'] },
  'S06 c_null_index': { ...paused, ids: ['call_q1'], names: ['add'] },
  'S08 a_empty_later': { ...paused, ids: ['call_n1'], names: ['scan_tree'] },
  'S08 b_empty_first': { ...paused, ids: ['call_n1'], names: ['scan_tree'] },
  'S10 a_two_ids': { ...paused, ids: ['call_a', 'call_b'], names: ['sum', 'tides'] },
  'S10 b_same_name_no_ids': { ...paused, names: ['fetch'] },
  'S10 c_interleaved': { ...paused, ids: ['call_a', 'call_b'], names: ['sum'] },
  'S12 a_reset_in_args': { ...cut, outcome: 'paused', ids: ['call_w'], names: ['write_file'] },
  'S12 b_clean_end': cut,
  'S12 c_unterminated_last': done,
  'S12 d_no_done': done,
};

describe('the reader of a copied stream', () => {
  it('has an expectation for every recorded stream', () => {
    expect(streamCases().map(({ name }) => name)).toEqual(Object.keys(expected));
  });

  describe.each(Object.entries(expected))('on %s', (name, facts) => {
    it.each([1, 7, 4_096, Number.MAX_SAFE_INTEGER])('knows the same with reads of %d bytes', (size) => {
      expect(summary(readStream(recut(streamCase(name).writes, size)))).toEqual(facts);
    });
  });

  it('S05 counts usage once, the last one when an engine sends a running one', () => {
    const running = (completion: number): Record<string, unknown> => ({
      ...chunk({ content: 'x' }),
      usage: { prompt_tokens: 5, completion_tokens: completion },
    });
    expect(readText(sse(running(1), running(2), chunk({}, 'stop'), '[DONE]')).usage).toEqual({
      promptTokens: 5,
      completionTokens: 2,
    });
  });

  it('reads cached tokens in the two shapes that engines use, and tells unknown from zero', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 1 };
    const read = (more: object): number | null =>
      readText(sse({ ...chunk({}, 'stop'), usage: { ...usage, ...more } })).cachedTokens;
    expect(read({ prompt_tokens_details: { cached_tokens: 8 } })).toBe(8);
    expect(read({ prompt_tokens_details: { cached_tokens: 0 } })).toBe(0);
    expect(read({ prompt_cache_hit_tokens: 4 })).toBe(4);
    expect(read({})).toBeNull();
    expect(read({ prompt_tokens_details: null })).toBeNull();
  });

  it.each([
    ['numbers where objects belong', sse({ choices: 5, usage: 7 })],
    [
      'a choice that is null',
      sse({ choices: [null, { delta: null }, { delta: { tool_calls: [null, 3] } }] }),
    ],
    [
      'negative and fractional counts',
      sse({ choices: [], usage: { prompt_tokens: -1, completion_tokens: 1.5 } }),
    ],
    ['no JSON', 'data: {"choices":\n\ndata: hello\n\n'],
    ['no event stream at all', '<html>\r\n\r\n</html>\r\n'],
    ['bytes that are no UTF-8', 'data: \u0000\ud800\n\n'],
  ])('passes over %s and reads on', (_, text) => {
    const facts = readText(text, sse(chunk({ content: 'x' }, 'stop'), '[DONE]'));
    expect(facts).toMatchObject({ finishReason: 'stop', closed: true, complete: true, usage: null });
  });

  it('takes an error inside a 200 for a failure, not for a cut', () => {
    const facts = readText(sse(chunk({ content: 'x' }), { error: { message: 'out of memory' } }, '[DONE]'));
    expect(summary(facts)).toMatchObject({ outcome: 'failed', cut: false });
  });

  it('stops reading at an event beyond its bound, without throwing, and says that it does not know all', () => {
    const reader = new DialectStreamReader(chatDialect);
    reader.feed(Buffer.from(sse(chunk({ content: 'x' }))));
    const piece = Buffer.from(`data: ${'x'.repeat(65_536)}`);
    for (let bytes = 0; bytes <= maxEventLength; bytes += piece.length) reader.feed(piece);
    reader.feed(Buffer.from(sse(chunk({}, 'stop'))));
    reader.end();
    expect(reader.facts()).toMatchObject({ complete: false, finishReason: null });
    expect(wasCut(reader.facts())).toBe(false);
  });

  it('bounds the tool calls it remembers', () => {
    const many = Array.from({ length: 500 }, (_, index) => ({
      id: `call_${index}`,
      function: { name: 'n'.repeat(1_000) + String(index) },
    }));
    const facts = readText(sse(chunk({ tool_calls: many })));
    expect(facts.toolCallIds.size).toBe(64);
    expect([...facts.toolNames].every((name) => name.length <= 256)).toBe(true);
  });

  it('counts pieces of output, for a stream that is cut before its usage', () => {
    const pieces = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'a' }),
      chunk({ reasoning_content: 'b' }),
    ];
    expect(readText(sse(...pieces)).outputPieces).toBe(2);
  });
});

describe('the reader of a whole reply', () => {
  it('reads calls, ids, names, usage and cached tokens', () => {
    const facts = readBody({
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            tool_calls: [
              { id: 'a', function: { name: 'f' } },
              { id: 'b', function: { name: 'g' } },
            ],
          },
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 2 } },
    });
    expect(summary(facts)).toEqual({
      ...paused,
      ids: ['a', 'b'],
      names: ['f', 'g'],
      usage: { promptTokens: 3, completionTokens: 4 },
    });
    expect(facts.cachedTokens).toBe(2);
  });

  it.each([
    ['a_stop_with_calls', 'paused'],
    ['b_label_without_calls', 'done'],
    ['c_no_finish', 'done'],
  ])('S21 believes the message, not its label: %s', (variant, outcome) => {
    const variants = readCase('S21').given['variants'] as Record<string, unknown>;
    expect(outcomeOfReply(readBody(variants[variant]))).toBe(outcome);
  });

  it('knows an old-style function call', () => {
    const message = { function_call: { name: 'f', arguments: '{}' } };
    expect(summary(readBody({ choices: [{ finish_reason: 'function_call', message }] }))).toMatchObject({
      outcome: 'paused',
      names: ['f'],
    });
  });

  it.each(['', 'not json', '[]', '{"choices":null}', '{"choices":[{"message":7}]}'])(
    'takes %j for a finished reply of which nothing is known',
    (body) => {
      expect(outcomeOfReply(readBody(body))).toBe('done');
    },
  );

  it('does not keep a body beyond its bound', () => {
    const reader = new DialectBodyReader(chatDialect);
    for (let index = 0; index < 5; index++) reader.feed(Buffer.alloc(1024 * 1024, 0x20));
    reader.end();
    expect(reader.facts().complete).toBe(false);
  });
});
