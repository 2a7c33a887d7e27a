import { describe, expect, it } from 'vitest';
import { chatDialect } from '../../../proxy/reply/chat-replies.ts';
import { DialectBodyReader } from '../../../proxy/reply/dialect-body-reader.ts';
import { DialectStreamReader } from '../../../proxy/reply/dialect-stream-reader.ts';
import { maxEventLength } from '../../../proxy/reply/event-reader.ts';
import { outcomeOfReply, wasCut, type ReplyFacts } from '../../../proxy/reply/reply-facts.ts';
import { caseFile } from '../../case-file.ts';
import { chunk, sse } from '../stack.ts';
import { streamCase, streamCases } from '../stream-cases.ts';
import { readBody, readStream, recut, summary } from './read-reply.ts';

const readText = (...texts: string[]): ReplyFacts => readStream(chatDialect, texts);

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

  for (const id of ['S01', 'S04', 'S05', 'S06', 'S08', 'S10', 'S12']) {
    const { title } = caseFile(id);
    describe(`${id} ${title}`, () => {
      const variants = Object.entries(expected).filter(([name]) => name.startsWith(id));
      describe.each(variants)('%s', (name, facts) => {
        it.each([1, 7, 4_096, Number.MAX_SAFE_INTEGER])('knows the same with reads of %d bytes', (size) => {
          const writes = recut(Buffer.concat(streamCase(name).writes), size);
          expect(summary(readStream(chatDialect, writes))).toEqual(facts);
        });
      });
    });
  }

  it('counts usage once, the last one when an engine sends a running one', () => {
    const running = (completion: number): Record<string, unknown> => ({
      ...chunk({ content: 'x' }),
      usage: { prompt_tokens: 5, completion_tokens: completion },
    });
    expect(readText(sse(running(1), running(2), chunk({}, 'stop'), '[DONE]')).usage).toEqual({
      promptTokens: 5,
      completionTokens: 2,
    });
  });

  it('reads cached tokens wherever engines put them, and tells unknown from zero', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 1 };
    const read = (more: object): number | null =>
      readText(sse({ ...chunk({}, 'stop'), usage: { ...usage, ...more } })).cachedTokens;
    expect(read({ prompt_tokens_details: { cached_tokens: 8 } })).toBe(8);
    expect(read({ prompt_tokens_details: { cached_tokens: 0 } })).toBe(0);
    expect(read({ prompt_cache_hit_tokens: 4 })).toBe(4);
    expect(read({ cached_tokens: 3 })).toBe(3);
    expect(read({ prompt_tokens_details: {}, cached_tokens: 3 })).toBe(3);
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
    const facts = readBody(chatDialect, {
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

  const s21 = caseFile('S21');
  describe(`${s21.id} ${s21.title}`, () => {
    const variants = s21.given['variants'] as Record<string, { choices: Record<string, unknown>[] }>;

    it.each([
      ['a_stop_with_calls', 'paused'],
      ['b_label_without_calls', 'done'],
      ['c_no_finish', 'done'],
    ])('believes the message, not its label: %s', (variant, outcome) => {
      expect(outcomeOfReply(readBody(chatDialect, variants[variant]))).toBe(outcome);
    });

    it.each([
      ['a_stop_with_calls', 'paused'],
      ['b_label_without_calls', 'done'],
    ])('believes the deltas of a stream as well: %s', (variant, outcome) => {
      const choices = variants[variant]?.choices ?? [];
      const events = choices.map(({ message, ...choice }) => ({ choices: [{ ...choice, delta: message }] }));
      expect(outcomeOfReply(readText(sse(...events, '[DONE]')))).toBe(outcome);
    });
  });

  it('knows an old-style function call', () => {
    const message = { function_call: { name: 'f', arguments: '{}' } };
    expect(
      summary(readBody(chatDialect, { choices: [{ finish_reason: 'function_call', message }] })),
    ).toMatchObject({
      outcome: 'paused',
      names: ['f'],
    });
  });

  it.each(['', 'not json', '[]', '{"choices":null}', '{"choices":[{"message":7}]}'])(
    'takes %j for a finished reply of which nothing is known',
    (body) => {
      expect(outcomeOfReply(readBody(chatDialect, body))).toBe('done');
    },
  );

  it('does not keep a body beyond its bound', () => {
    const reader = new DialectBodyReader(chatDialect);
    for (let index = 0; index < 5; index++) reader.feed(Buffer.alloc(1024 * 1024, 0x20));
    reader.end();
    expect(reader.facts().complete).toBe(false);
  });
});

describe('a reply in the dialect of an engine', () => {
  const usage = { prompt_tokens: 30, completion_tokens: 7 };
  const read = { promptTokens: 30, completionTokens: 7 };
  const finish = chunk({}, 'stop');

  it.each([
    [
      'vLLM, usage on every chunk',
      [
        { ...chunk({ content: 'a' }), usage: { prompt_tokens: 30, completion_tokens: 1 } },
        { ...finish, usage },
      ],
      null,
    ],
    [
      'SGLang, with its report of the cache',
      [finish, { choices: [], usage: { ...usage, prompt_tokens_details: { cached_tokens: 16 } } }],
      16,
    ],
    ['SGLang, in its meta data', [{ ...finish, meta_info: { ...usage, cached_tokens: 16 } }], 16],
    [
      'llama.cpp, in its timings',
      [{ ...finish, timings: { cache_n: 20, prompt_n: 10, predicted_n: 7 } }],
      20,
    ],
    [
      'llama.cpp, usage beside timings',
      [
        { ...finish, timings: { cache_n: 1, prompt_n: 1, predicted_n: 1 } },
        { choices: [], usage: { ...usage, prompt_tokens_details: { cached_tokens: 20 } } },
      ],
      20,
    ],
    [
      'an older llama.cpp',
      [{ ...finish, timings: { prompt_n: 30, predicted_n: 7, predicted_ms: 5.5 } }],
      null,
    ],
    ['TGI, on the finishing chunk', [{ ...finish, usage: { ...usage, total_tokens: 37 } }], null],
    ['Ollama', [finish, { ...chunk({}), choices: [], usage }], null],
    [
      'DeepSeek',
      [{ ...finish, usage: { ...usage, prompt_cache_hit_tokens: 24, prompt_cache_miss_tokens: 6 } }],
      24,
    ],
    [
      'Moonshot, in the choice',
      [{ choices: [{ delta: {}, finish_reason: 'stop', usage: { ...usage, cached_tokens: 9 } }] }],
      9,
    ],
    ['Groq, in its extension', [{ ...finish, x_groq: { id: 'r', usage } }], null],
    [
      'OpenRouter, with costs',
      [
        finish,
        {
          ...chunk({ content: '' }),
          usage: { ...usage, cost: 0.1, prompt_tokens_details: { cached_tokens: 0 } },
        },
      ],
      0,
    ],
    [
      'a gateway that ends with an empty usage',
      [
        { ...finish, usage },
        { choices: [], usage: {} },
      ],
      null,
    ],
  ])('is read as %s writes usage', (_, events, cached) => {
    const facts = readText(sse(...events, '[DONE]'));
    expect(facts).toMatchObject({ usage: read, cachedTokens: cached, finishReason: 'stop' });
  });

  it.each([
    ['an error object', { error: { message: 'x', code: 500 } }],
    ['an error text, as TGI and Ollama write it', { error: 'x', error_type: 'generation' }],
    ['an error by its kind, as older vLLM and TensorRT-LLM write it', { object: 'error', message: 'x' }],
    ['a finish reason, as OpenRouter writes it', chunk({ content: '' }, 'error')],
    ['an abort, as SGLang and vLLM write it', chunk({}, 'abort')],
    ['an error in the choice', { choices: [{ delta: {}, error: { message: 'x' }, finish_reason: null }] }],
  ])('is failed by %s', (_, event) => {
    expect(summary(readText(sse(chunk({ content: 'x' }), event)))).toMatchObject({
      outcome: 'failed',
      cut: false,
    });
    expect(summary(readBody(chatDialect, event)).outcome).toBe('failed');
  });

  it('is failed by the name of an event', () => {
    expect(summary(readText('event: error\ndata: {"message":"x"}\n\n')).outcome).toBe('failed');
  });

  it.each([
    ['text', { content: 'x' }],
    ['reasoning as vLLM and DeepSeek write it', { reasoning_content: 'x' }],
    ['reasoning as OpenRouter and newer vLLM write it', { reasoning: 'x' }],
    ['text in parts', { content: [{ type: 'text', text: 'x' }] }],
    ['a refusal', { refusal: 'no' }],
    ['a call', { tool_calls: [{ index: 0, function: { arguments: '{' } }] }],
  ])('is counted by its pieces: %s', (_, delta) => {
    expect(readText(sse(chunk(delta), chunk({ content: '' }), chunk({ content: null }))).outputPieces).toBe(
      1,
    );
  });
});

describe('the reader of completions', () => {
  const piece = (text: string, reason: string | null = null): Record<string, unknown> => ({
    object: 'text_completion',
    choices: [{ index: 0, text, logprobs: null, finish_reason: reason }],
  });

  it('reads a stream: text, finish reason and usage', () => {
    const last = { choices: [], usage: { prompt_tokens: 4, completion_tokens: 2 } };
    const facts = readText(sse(piece('a'), piece('b'), piece('', 'length'), last, '[DONE]'));
    expect(facts).toMatchObject({
      finishReason: 'length',
      outputPieces: 2,
      usage: { promptTokens: 4, completionTokens: 2 },
    });
    expect(outcomeOfReply(facts)).toBe('done');
  });

  it('reads a whole body', () => {
    const body = { ...piece('ab', 'stop'), usage: { prompt_tokens: 4, completion_tokens: 2 } };
    expect(summary(readBody(chatDialect, body))).toEqual({
      ...done,
      usage: { promptTokens: 4, completionTokens: 2 },
    });
  });

  it('sees that a stream was cut', () => {
    expect(wasCut(readText(sse(piece('a'), piece('b'))))).toBe(true);
  });
});
