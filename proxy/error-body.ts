/** The body of a fault in the shape that the clients of its endpoint know. Pure. */
import { errorCodes, type ErrorCode } from '../contracts/error-codes.ts';

/** Anthropic's names for what went wrong. */
type AnthropicType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'api_error'
  | 'overloaded_error';

/**
 * @param url the request target; null when it is not known.
 * @returns JSON text: Anthropic's shape under `/v1/messages`, OpenAI's everywhere else. Both carry our code.
 */
export function errorBody(code: ErrorCode, message: string, url: string | null): string {
  if (url !== null && isAnthropic(url)) {
    return JSON.stringify({ type: 'error', error: { type: anthropicType(code), message, code } });
  }
  return JSON.stringify({ error: { message, type: errorCodes[code].type, code } });
}

const anthropicPath = /^\/v1\/messages(?:[/?]|$)/;

function isAnthropic(url: string): boolean {
  return anthropicPath.test(url);
}

function anthropicType(code: ErrorCode): AnthropicType {
  const { status, type } = errorCodes[code];
  if (status === 413) return 'request_too_large';
  return type === 'server_error' ? 'api_error' : type;
}
