/** What a failed call at a tool server means: whether the server can have acted on it. Pure. */
import { SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';

/** A call that has no result. */
export class ToolServerError extends Error {
  override readonly name = 'ToolServerError';
  /** `not-sent`: the server never got it. `unknown`: it may have taken effect. `refused`: the server said no. */
  readonly outcome: 'not-sent' | 'unknown' | 'refused';

  constructor(outcome: ToolServerError['outcome'], message: string) {
    super(message);
    this.outcome = outcome;
  }
}

/** @param limits of the server, to say which of them was reached. */
export function describeCallFailure(
  name: string,
  limits: { readonly idleTimeoutMs: number },
  error: unknown,
): ToolServerError {
  if (error instanceof SdkHttpError) return httpFailure(name, error);
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) {
      return new ToolServerError(
        'unknown',
        `${name} gave no sign of life for ${limits.idleTimeoutMs / 1_000} s and was told to stop`,
      );
    }
    if (error.code === SdkErrorCode.NotConnected)
      return new ToolServerError('not-sent', `${name} is not connected`);
    return new ToolServerError('unknown', `${name}: ${error.message}`);
  }
  const code = (error as { code?: unknown }).code;
  // A JSON-RPC error: the server has read the call and said no.
  if (typeof code === 'number') return new ToolServerError('refused', messageOf(error));
  return new ToolServerError(
    isRefusedConnection(error) ? 'not-sent' : 'unknown',
    `${name}: ${messageOf(error)}`,
  );
}

function httpFailure(name: string, error: SdkHttpError): ToolServerError {
  const status = statusOf(error);
  const outcome = status !== undefined && status >= 400 && status < 500 ? 'not-sent' : 'unknown';
  return new ToolServerError(outcome, `${name}: ${error.message}`);
}

/** The server does not know the session any more: it turned the request away unread. */
export function isLostSession(error: unknown): boolean {
  return error instanceof SdkHttpError && statusOf(error) === 404;
}

function statusOf(error: SdkHttpError): number | undefined {
  return error.status;
}

function isRefusedConnection(error: unknown): boolean {
  for (let current: unknown = error; current instanceof Error; current = current.cause) {
    if (['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH'].includes((current as NodeJS.ErrnoException).code ?? ''))
      return true;
  }
  return false;
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error && error.message === 'fetch failed' ? error.cause : error;
  const code = (cause as NodeJS.ErrnoException).code;
  return cause.message === '' ? (code ?? cause.name) : cause.message;
}
