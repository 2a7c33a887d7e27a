import { describe, expect, it } from 'vitest';
import {
  classifyFailure,
  type FailureClass,
  type UpstreamFailure,
} from '../../../activities/model-turn/classify-failure.ts';

const status = (
  code: number,
  more: Partial<Extract<UpstreamFailure, { kind: 'status' }>> = {},
): UpstreamFailure => ({
  kind: 'status',
  status: code,
  code: null,
  message: 'm',
  headers: {},
  ...more,
});

describe('a failed model turn', () => {
  it.each<[string, UpstreamFailure, FailureClass['type'], FailureClass['retry'], number | null]>([
    ['429', status(429), 'ModelBusy', 'while-run-lives', null],
    [
      '429 with Retry-After',
      status(429, { headers: { retryAfter: '7' } }),
      'ModelBusy',
      'while-run-lives',
      7_000,
    ],
    ['503', status(503), 'ModelBusy', 'while-run-lives', null],
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
      null,
    ],
    ['proxy unreachable', { kind: 'connection', message: 'm' }, 'ModelUnreachable', 'while-run-lives', null],
    ['500', status(500), 'ModelServerError', 'bounded', null],
    ['502 of the engine', status(502), 'ModelServerError', 'bounded', null],
    ['504', status(504, { code: 'engine_idle' }), 'ModelServerError', 'bounded', null],
    [
      '500 with Retry-After',
      status(500, { headers: { retryAfter: '3' } }),
      'ModelServerError',
      'bounded',
      3_000,
    ],
    ['stream broken off', { kind: 'broken-stream', message: 'm' }, 'ModelStreamBroken', 'bounded', null],
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
    expect(classifyFailure(failure, 0)).toEqual({ type, retry, delayMs, message: 'm' });
  });

  it('keeps its message short, whatever the upstream sends (D01)', () => {
    const { message } = classifyFailure(status(500, { message: 'x'.repeat(3_000_000) }), 0);
    expect(message.length).toBeLessThan(2_100);
  });
});
