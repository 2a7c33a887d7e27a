import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  classifyFailure,
  type FailureClass,
  type UpstreamFailure,
} from '../../../activities/model-turn/classify-failure.ts';
import { readRefusal } from '../../../contracts/engine-refusal.ts';
import { caseFile } from '../../case-file.ts';

const status = (
  code: number,
  more: Partial<Extract<UpstreamFailure, { kind: 'status' }>> = {},
): UpstreamFailure => ({
  kind: 'status',
  status: code,
  code: null,
  message: 'm',
  headers: {},
  refusal: null,
  ...more,
});

describe('a failed model turn', () => {
  it.each<[string, UpstreamFailure, FailureClass['type'], FailureClass['retry'], number | null]>([
    ['429', status(429), 'ModelBusy', 'while-run-lives', 1_000],
    [
      '429 with Retry-After',
      status(429, { headers: { retryAfter: '7' } }),
      'ModelBusy',
      'while-run-lives',
      7_000,
    ],
    ['503', status(503), 'ModelBusy', 'while-run-lives', 1_000],
    [
      '503 with Retry-After',
      status(503, { headers: { retryAfter: '1' } }),
      'ModelBusy',
      'while-run-lives',
      1_000,
    ],
    [
      'engine unreachable',
      status(502, { code: 'engine_unreachable' }),
      'ModelUnreachable',
      'while-run-lives',
      1_000,
    ],
    ['proxy unreachable', { kind: 'connection', message: 'm' }, 'ModelUnreachable', 'while-run-lives', 1_000],
    ['500', status(500), 'ModelServerError', 'bounded', 1_000],
    ['502 of the engine', status(502), 'ModelServerError', 'bounded', 1_000],
    ['504', status(504, { code: 'engine_idle' }), 'ModelServerError', 'bounded', 1_000],
    [
      '500 with Retry-After',
      status(500, { headers: { retryAfter: '3' } }),
      'ModelServerError',
      'bounded',
      3_000,
    ],
    ['stream broken off', { kind: 'broken-stream', message: 'm' }, 'ModelStreamBroken', 'bounded', 1_000],
    ['400', status(400), 'ModelRequestRefused', 'never', null],
    ['401', status(401), 'ModelRequestRefused', 'never', null],
    ['404', status(404, { code: 'unknown_model' }), 'ModelRequestRefused', 'never', null],
    ['409', status(409, { code: 'run_ended' }), 'ModelRequestRefused', 'never', null],
    [
      '413 with Retry-After',
      status(413, { headers: { retryAfter: '3' } }),
      'ModelRequestRefused',
      'never',
      null,
    ],
    ['reply too large', { kind: 'too-large', message: 'm' }, 'ReplyTooLarge', 'never', null],
  ])('%s', (_name, failure, type, retry, delayMs) => {
    expect(classifyFailure(failure, 1, 0)).toEqual({ type, retry, delayMs, message: 'm' });
  });

  it('keeps its message short, whatever the upstream sends (D01)', () => {
    const { message } = classifyFailure(status(500, { message: 'x'.repeat(3_000_000) }), 1, 0);
    expect(message.length).toBeLessThan(2_100);
  });
});

const g08 = caseFile('G08');
const g08Rows = z
  .object({ rows: z.array(z.object({ name: z.string(), status: z.number(), body: z.unknown() })) })
  .parse(g08.given).rows;
const g08Expected = z
  .object({
    rows: z.array(
      z.object({ class: z.string(), prompt_tokens: z.number().optional(), limit: z.number().optional() }),
    ),
  })
  .parse(g08.expect).rows;
const typeOfClass: Readonly<Record<string, [FailureClass['type'], FailureClass['retry']]>> = {
  context_too_long: ['ModelContextTooLong', 'never'],
  output_budget: ['ModelOutputBudget', 'never'],
  bad_request: ['ModelRequestRefused', 'never'],
  rate_limit: ['ModelBusy', 'while-run-lives'],
};

describe(`${g08.id} ${g08.title}`, () => {
  it.each(g08Rows.map((row, index) => [row.name, row, g08Expected[index]] as const))(
    'as a failure of a run: %s',
    (_, row, wanted) => {
      const body = typeof row.body === 'string' ? row.body : JSON.stringify(row.body);
      const failure = classifyFailure(status(row.status, { refusal: readRefusal(row.status, body) }), 1, 0);
      expect([failure.type, failure.retry]).toEqual(typeOfClass[wanted?.class ?? '']);
      const counts = [wanted?.prompt_tokens, wanted?.limit].filter((tokens) => tokens !== undefined);
      expect(counts.filter((tokens) => !failure.message.includes(` ${tokens} tokens`))).toEqual([]);
    },
  );
});

const g02 = caseFile('G02');

describe(`${g02.id} ${g02.title}`, () => {
  it.each([
    ['1', 429],
    ['0', 503],
    ['20', 429],
    ['1', 500],
  ])('the waits of a run grow although the upstream always says %s s with %d', (retryAfter, code) => {
    const delays = Array.from({ length: 12 }, (_, index) => index + 1).map(
      (attempt) =>
        classifyFailure(status(code, { headers: { retryAfter } }), attempt, 0).delayMs ?? Number.NaN,
    );
    expect(delays[0]).toBe(Number(retryAfter) * 1_000);
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(delays.at(-1)).toBe(30_000);
  });

  const delaysOf = (failure: UpstreamFailure) =>
    [1, 2, 3, 4, 5, 6, 7].map((attempt) => classifyFailure(failure, attempt, 0).delayMs);

  it.each<UpstreamFailure>([status(503), status(500)])(
    'and from 1 s to 30 s where it says nothing: %o',
    (failure) => expect(delaysOf(failure)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]),
  );

  it('and from 1 s to 5 s where the proxy, which is our own, does not answer', () => {
    const delays = delaysOf({ kind: 'connection', message: 'm' });
    expect(delays).toEqual([1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000]);
  });

  it('but are never shorter than what the upstream asks', () => {
    const asked = classifyFailure(status(429, { headers: { retryAfter: '90' } }), 9, 0);
    expect(asked.delayMs).toBe(90_000);
  });
});
