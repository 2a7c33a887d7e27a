/**
 * Every failure that fermata itself answers with: one code, one HTTP status, one OpenAI error type.
 * What an engine answers is passed on unchanged and has no entry here. A test pins this table.
 */
export interface ErrorCodeEntry {
  /** HTTP status of the response. */
  readonly status: number;
  /** The `type` field of the OpenAI error body. */
  readonly type:
    | 'invalid_request_error'
    | 'authentication_error'
    | 'permission_error'
    | 'not_found_error'
    | 'rate_limit_error'
    | 'server_error'
    | 'overloaded_error';
  /** What it means and what the caller can do, for the reference. */
  readonly meaning: string;
}

export const errorCodes = {
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'The request body is not JSON; mend the body.',
  },
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'A field of the body is missing or of the wrong kind; the message names it.',
  },
  invalid_header: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'A fermata header has a value it cannot have; the message names header and rule.',
  },
  unauthorized: {
    status: 401,
    type: 'authentication_error',
    meaning: 'No token, or one this installation does not know; send `Authorization: Bearer TOKEN`.',
  },
  forbidden: {
    status: 403,
    type: 'permission_error',
    meaning: 'The token is known but may not do this; use one marked `admin`.',
  },
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    meaning: 'A limit of this caller is used up; try again after Retry-After seconds. The message names it.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    meaning: 'The body is larger than is taken: 32 MiB at the proxy, 4 MiB at the run API; send less.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    meaning: 'The endpoint has no such method; the header Allow lists those it has.',
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    meaning: 'The body is not called JSON; send `Content-Type: application/json`.',
  },
  cross_site: {
    status: 403,
    type: 'permission_error',
    meaning:
      'A web page of another site asks, or the host that is named is not this server; open its own page, or set FERMATA_TOKEN.',
  },
  not_found: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No such endpoint; the message names it.',
  },
  unknown_handle: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No such run or approval, or one of another caller; GET /api/runs lists the runs there are.',
  },
  unknown_model: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No replica of the pool serves this model; GET /v1/models lists what there is.',
  },
  unsupported_api: {
    status: 404,
    type: 'not_found_error',
    meaning:
      'Replicas serve this model, but none of them through this endpoint; the message names those they have.',
  },
  run_ended: {
    status: 409,
    type: 'invalid_request_error',
    meaning: 'The run was ended while this turn was held or in flight; start a new run.',
  },
  conflict: {
    status: 409,
    type: 'invalid_request_error',
    meaning: 'What is asked does not go with how the run stands; the message says why.',
  },
  already_decided: {
    status: 409,
    type: 'invalid_request_error',
    meaning: 'The approval was decided before, as `decided` tells; this answer changed nothing.',
  },
  unavailable: {
    status: 503,
    type: 'overloaded_error',
    meaning:
      'What is needed does not answer now (Temporal, a worker, the scheduler), or there is no room; try again.',
  },
  overloaded: {
    status: 503,
    type: 'overloaded_error',
    meaning: 'Too many turns are held; try again after Retry-After seconds.',
  },
  draining: {
    status: 503,
    type: 'overloaded_error',
    meaning: 'This proxy is stopping; send the request again, it reaches another one.',
  },
  engine_unreachable: {
    status: 502,
    type: 'server_error',
    meaning: 'The replica could not be reached or broke off before its first byte; try again.',
  },
  engine_idle: {
    status: 504,
    type: 'server_error',
    meaning: 'The replica sent nothing for longer than policy.streamIdleMs; try again.',
  },
  internal: {
    status: 500,
    type: 'server_error',
    meaning: 'A fault in fermata; the log line with the same turn id says more.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof errorCodes;

/** Codes with which the scheduler may reject a held turn. */
export const rejectCodes = [
  'unknown_model',
  'run_ended',
  'overloaded',
] as const satisfies readonly ErrorCode[];
export type RejectCode = (typeof rejectCodes)[number];
