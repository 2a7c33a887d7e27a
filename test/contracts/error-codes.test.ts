import { expect, it } from 'vitest';
import { errorCodes } from '../../contracts/error-codes.ts';

it('the table of error codes is what clients rely on', () => {
  expect(Object.fromEntries(Object.entries(errorCodes).map(([code, entry]) => [code, entry.status]))).toEqual(
    {
      invalid_json: 400,
      invalid_request: 400,
      invalid_header: 400,
      unauthorized: 401,
      forbidden: 403,
      rate_limited: 429,
      body_too_large: 413,
      method_not_allowed: 405,
      unsupported_media_type: 415,
      cross_site: 403,
      not_found: 404,
      unknown_handle: 404,
      unknown_model: 404,
      unsupported_api: 404,
      run_ended: 409,
      conflict: 409,
      already_decided: 409,
      unavailable: 503,
      overloaded: 503,
      draining: 503,
      engine_unreachable: 502,
      engine_idle: 504,
      internal: 500,
    },
  );
});
