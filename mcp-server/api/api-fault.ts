/** Every failure of the run API as a reply: one code, one status, words that say what to do. Pure. */
import { z } from 'zod';
import { describeFaults } from '../../contracts/config-file.ts';
import { errorCodes, type ErrorCode } from '../../contracts/error-codes.ts';
import { UserFault, type FaultKind } from '../runs/user-fault.ts';

export interface FaultDetails {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Beside `error` in the body. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

export class ApiFault extends Error {
  override readonly name = 'ApiFault';
  readonly code: ErrorCode;
  readonly details: FaultDetails;

  constructor(code: ErrorCode, message: string, details: FaultDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }
}

const codeOfKind: Readonly<Record<FaultKind, ErrorCode>> = {
  'not-found': 'unknown_handle',
  invalid: 'invalid_request',
  conflict: 'conflict',
  busy: 'unavailable',
};

export const maxBodyBytes = 4 * 1_024 * 1_024;
const retryAfter = { 'retry-after': '1' };

/** What the framework refuses before a handler sees it. */
const frameworkSchema = z.object({
  code: z.string(),
  statusCode: z.number().optional(),
  message: z.string(),
});

/** @returns null for what is no fault of the request and none that anybody foresaw. */
export function toApiFault(error: unknown): ApiFault | null {
  if (error instanceof ApiFault) return error;
  const cause = { cause: error };
  if (error instanceof UserFault) {
    const headers = error.kind === 'busy' ? retryAfter : {};
    return new ApiFault(codeOfKind[error.kind], error.message, { headers }, cause);
  }
  const told = frameworkSchema.safeParse(error);
  if (!told.success) return null;
  const { code, statusCode = 500, message } = told.data;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new ApiFault(
      'body_too_large',
      `the body is larger than ${maxBodyBytes} bytes; send less`,
      {},
      cause,
    );
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return mediaTypeFault();
  return statusCode < 500 ? new ApiFault('invalid_request', message, {}, cause) : null;
}

export function mediaTypeFault(): ApiFault {
  return new ApiFault('unsupported_media_type', 'the body must be sent with Content-Type: application/json');
}

/** @param where what was parsed: `body`, `query`. */
export function parseFault(where: string, error: z.ZodError): ApiFault {
  return new ApiFault('invalid_request', `${where}: ${describeFaults(error).join('; ')}`);
}

export function faultBody({ code, message, details }: ApiFault): Record<string, unknown> {
  return { error: { message, type: errorCodes[code].type, code }, ...details.body };
}

export const errorBodySchema = z.object({
  error: z.object({ message: z.string(), type: z.string(), code: z.string() }),
});
