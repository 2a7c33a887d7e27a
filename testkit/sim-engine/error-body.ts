/** Errors in the shape of the API that they answer. */

const openAiTypes: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  404: 'NotFoundError',
  405: 'MethodNotAllowed',
  429: 'RateLimitError',
};

const anthropicTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  529: 'overloaded_error',
};

/** Anthropic's shape below `/v1/messages`, OpenAI's as vLLM has it everywhere else. */
export function errorBody(path: string, status: number, message: string): object {
  if (/^\/v1\/messages(\/|$)/.test(path)) {
    return { type: 'error', error: { type: anthropicTypes[status] ?? 'api_error', message } };
  }
  const type = openAiTypes[status] ?? 'InternalServerError';
  return { error: { message, type, param: null, code: status } };
}
