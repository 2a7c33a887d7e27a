import { describe, expect, it } from 'vitest';
import { errorCodes, type ErrorCode } from '../../contracts/error-codes.ts';
import { errorBody } from '../../proxy/error-body.ts';
import { Fault, faultReply } from '../../proxy/faults.ts';

const codes = Object.keys(errorCodes) as ErrorCode[];

/** Anthropic's names by HTTP status. */
const anthropicTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  409: 'invalid_request_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'api_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'api_error',
};

describe('the body of an error', () => {
  it.each(codes)('%s has Anthropic\u2019s shape and name under /v1/messages, and our code', (code) => {
    const { status } = errorCodes[code];
    const type = anthropicTypes[status];
    expect(type).toBeDefined();
    const reply = faultReply(new Fault(code, 'words'), '/v1/messages?beta=true');
    expect(reply.status).toBe(status);
    expect(JSON.parse(reply.body)).toEqual({ type: 'error', error: { type, message: 'words', code } });
  });

  it.each([
    ['/v1/messages', true],
    ['/v1/messages/', true],
    ['/v1/messages/count_tokens?x', true],
    ['/v1/messages-of-old', false],
    ['/v1/chat/completions?at=/v1/messages', false],
    ['/', false],
    [null, false],
  ])('of %s is Anthropic\u2019s: %s', (url, isAnthropic) => {
    const body = JSON.parse(errorBody('not_found', 'words', url)) as Record<string, unknown>;
    expect(body['type'] === 'error').toBe(isAnthropic);
  });
});
