import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeRefusal, readRefusal } from '../../contracts/engine-refusal.ts';
import { caseFile } from '../case-file.ts';

const g08 = caseFile('G08');
const rows = z
  .object({ rows: z.array(z.object({ name: z.string(), status: z.number(), body: z.unknown() })) })
  .parse(g08.given).rows;
const expected = z
  .object({
    rows: z.array(
      z.object({ class: z.string(), prompt_tokens: z.number().optional(), limit: z.number().optional() }),
    ),
  })
  .parse(g08.expect).rows;

const text = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));

describe(`${g08.id} ${g08.title}`, () => {
  it.each(rows.map((row, index) => [row.name, row, expected[index]] as const))('%s', (_, row, wanted) => {
    const refusal = readRefusal(row.status, text(row.body));
    expect(refusal?.kind).toBe(wanted?.class);
    expect(refusal?.promptTokens ?? undefined).toBe(wanted?.prompt_tokens);
    expect(refusal?.limitTokens ?? undefined).toBe(wanted?.limit);
  });

  // Sentences of engines' sources, with numbers of our own: [name, sentence, kind, prompt, limit].
  it.each<[string, string, string, number | null, number | null]>([
    [
      'vLLM, sum',
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4200 in the messages, 800 in the completion). Please reduce the length of the messages or completion.",
      'context_too_long',
      4200,
      4096,
    ],
    [
      'vLLM, answer',
      "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
      'output_budget',
      100,
      4096,
    ],
    [
      'vLLM, decoder',
      'The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.',
      'context_too_long',
      9000,
      8192,
    ],
    [
      'vLLM, passed',
      "You passed 9001 input tokens and requested 10 output tokens. However, the model's context length is only 8192 tokens, resulting in a maximum input length of 8182 tokens.",
      'context_too_long',
      9001,
      8192,
    ],
    [
      'SGLang, input',
      "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
      'context_too_long',
      9000,
      8192,
    ],
    [
      'SGLang, sum',
      "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens: 8000 tokens from the input messages and 1000 tokens for the completion.",
      'output_budget',
      8000,
      8192,
    ],
    [
      'TGI, sum',
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`',
      'output_budget',
      4000,
      4096,
    ],
    [
      'OpenAI',
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
      'context_too_long',
      9000,
      8192,
    ],
    [
      'Anthropic',
      'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
      'output_budget',
      190_000,
      200_000,
    ],
    [
      'Gemini',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'context_too_long',
      1_200_000,
      1_048_576,
    ],
    ['Ollama', 'the input length exceeds the context length', 'context_too_long', null, null],
    ['a field', 'temperature must be at most 2', 'bad_request', null, null],
    ['a long name', 'tools.0.function.name: string too long, at most 64', 'bad_request', null, null],
    ['a word', 'unknown field context in messages.1', 'bad_request', null, null],
  ])('of the same kind: %s', (_, message, kind, promptTokens, limitTokens) => {
    const shapes: unknown[] = [
      message,
      { error: { message, type: 'BadRequestError', code: 400 } },
      { object: 'error', message, code: 400 },
      { error: message },
      { detail: message },
      { type: 'error', error: { type: 'invalid_request_error', message } },
    ];
    for (const shape of shapes) {
      const refusal = readRefusal(400, text(shape));
      expect(refusal).toEqual({ kind, promptTokens, limitTokens, message });
    }
  });

  it('whichever is larger decides, for any counts', () => {
    const tokens = fc.integer({ min: 1, max: 10_000_000 });
    fc.assert(
      fc.property(tokens, tokens, tokens, (prompt, limit, output) => {
        const message = `This model's maximum context length is ${limit} tokens. However, you requested ${output} output tokens and your prompt contains at least ${prompt} input tokens.`;
        expect(readRefusal(400, JSON.stringify({ error: { message } }))).toEqual({
          kind: prompt < limit ? 'output_budget' : 'context_too_long',
          promptTokens: prompt,
          limitTokens: limit,
          message,
        });
      }),
    );
  });

  it('never throws and never invents a count, for any body and status', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(fc.string(), fc.json()), (status, body) => {
        const refusal = readRefusal(status, body);
        expect(refusal === null || status >= 400).toBe(true);
        const counts = [refusal?.promptTokens, refusal?.limitTokens].filter(
          (tokens) => typeof tokens === 'number',
        );
        expect(counts.filter((tokens) => !body.includes(String(tokens)))).toEqual([]);
      }),
    );
  });

  it('says nothing of what is another matter: rights, unknown models, faults of the engine', () => {
    const body = JSON.stringify({ error: { message: 'no' } });
    expect([401, 403, 404, 500, 502, 503].map((status) => readRefusal(status, body))).toEqual(
      Array(6).fill(null),
    );
  });
});

it('a log line has the class and the counts and none of the words', () => {
  const refusal = readRefusal(
    400,
    'input of 33001 tokens exceeds the maximum allowed length of 32768 tokens',
  );
  expect(refusal && describeRefusal(refusal)).toBe('context_too_long: prompt 33001, limit 32768');
  const bare = readRefusal(400, 'secret words');
  expect(bare && describeRefusal(bare)).toBe('bad_request');
});
