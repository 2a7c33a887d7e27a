import { describe, expect, it } from 'vitest';
import { errorCodes, type ErrorCode } from '../../contracts/error-codes.ts';
import { Fault, faultReply, toFault } from '../../proxy/faults.ts';
import { refusalFault } from '../../proxy/refusal-fault.ts';

describe('the one translation of a fault to HTTP', () => {
  it.each(Object.keys(errorCodes) as ErrorCode[])('%s has the status and type of the table', (code) => {
    const { status, body, headers } = faultReply(new Fault(code, 'words'), '/v1/chat/completions');
    expect(status).toBe(errorCodes[code].status);
    expect(JSON.parse(body)).toEqual({ error: { message: 'words', type: errorCodes[code].type, code } });
    expect(headers).toMatchObject({ 'content-type': 'application/json' });
  });

  it('names when to try again', () => {
    expect(faultReply(new Fault('overloaded', 'x', 5), null).headers['retry-after']).toBe('5');
  });

  it('gives nothing away of a fault of ours', () => {
    const fault = toFault(new Error('secret path /home/x'));
    expect(fault.code).toBe('internal');
    expect(fault.message).not.toContain('secret');
  });
});

it('a refusal has its own words, and says when to come back where that helps', () => {
  expect(refusalFault('unknown_model', 'm').message).toBe("no generative replica serves model 'm'");
  expect(refusalFault('unknown_model', null).message).toBe('no replica of the pool serves this request');
  expect(refusalFault('overloaded', 'm').retryAfterSeconds).toBeGreaterThan(0);
  expect(refusalFault('draining', 'm').retryAfterSeconds).toBeGreaterThan(0);
  expect(refusalFault('run_ended', 'm').retryAfterSeconds).toBeNull();
});
