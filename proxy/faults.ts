/**
 * A failure that this proxy answers itself, and its ONE translation to HTTP. What an engine answers is
 * never a fault: it is passed on unchanged.
 */
import type { ServerResponse } from 'node:http';
import { errorCodes, type ErrorCode } from '../contracts/error-codes.ts';
import { errorBody } from './error-body.ts';

export class Fault extends Error {
  override readonly name = 'Fault';
  readonly code: ErrorCode;
  /** Whole seconds after which the client may try again. */
  readonly retryAfterSeconds: number | null;

  constructor(code: ErrorCode, message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Any thrown value as a fault; what is not one already is a fault of ours. */
export function toFault(error: unknown): Fault {
  return error instanceof Fault
    ? error
    : new Fault('internal', 'a fault in fermata; the log line of this request says more');
}

export interface FaultReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The response to a fault, its body in the shape of its endpoint.
 * @param url the request target; null when it is not known.
 */
export function faultReply(fault: Fault, url: string | null): FaultReply {
  return {
    status: errorCodes[fault.code].status,
    headers: {
      'content-type': 'application/json',
      ...(fault.retryAfterSeconds === null ? {} : { 'retry-after': String(fault.retryAfterSeconds) }),
      // The rest of such a body may still be on its way: it is not read.
      ...(fault.code === 'body_too_large' ? { connection: 'close' } : {}),
    },
    body: errorBody(fault.code, fault.message, url),
  };
}

/** Writes the whole response to a fault. Must only be called before anything else was written. */
export function sendFault(
  response: ServerResponse,
  fault: Fault,
  extraHeaders: Readonly<Record<string, string>> = {},
): number {
  const { status, headers, body } = faultReply(fault, response.req.url ?? null);
  response.writeHead(status, {
    ...headers,
    ...extraHeaders,
    'content-length': String(Buffer.byteLength(body)),
  });
  response.end(body);
  return status;
}
