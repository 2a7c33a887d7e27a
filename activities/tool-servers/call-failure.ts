/** What a failed call at a tool server means: whether the server can have acted on it. Pure. */
import { SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { cutResult } from '../tool-calls/cut-result.ts';

const longestMessageBytes = 10_000;

/** A call that has no result. */
export class ToolServerError extends Error {
  override readonly name = 'ToolServerError';
  /** `not-sent`: the server never got it. `unknown`: it may have taken effect. `refused`: the server said no. */
  readonly outcome: 'not-sent' | 'unknown' | 'refused';

  /** @param message cut: a server's words may be of any length, and become part of a run's history. */
  constructor(outcome: ToolServerError['outcome'], message: string) {
    super(cutResult(message, longestMessageBytes));
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
  if (isUnsent(error)) return new ToolServerError('not-sent', `${name} is not connected`);
  if (error instanceof SdkError) return sdkFailure(name, limits, error);
  const code = (error as { code?: unknown }).code;
  // A JSON-RPC error: the server has read the call and said no.
  if (typeof code === 'number') return new ToolServerError('refused', messageOf(error));
  return new ToolServerError(
    isRefusedConnection(error) ? 'not-sent' : 'unknown',
    `${name}: ${messageOf(error)}`,
  );
}

function sdkFailure(
  name: string,
  limits: { readonly idleTimeoutMs: number },
  error: SdkError,
): ToolServerError {
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return new ToolServerError(
        'unknown',
        `${name} gave no sign of life for ${limits.idleTimeoutMs / 1_000} s and was told to stop`,
      );
    case SdkErrorCode.CapabilityNotSupported:
      return new ToolServerError(
        'refused',
        `${name} asks for something in return that a sub-agent cannot give (${error.message.slice(0, 200)})`,
      );
    default:
      return new ToolServerError('unknown', `${name}: ${error.message}`);
  }
}

function httpFailure(name: string, error: SdkHttpError): ToolServerError {
  const { status } = error;
  // 408: it gave up waiting, perhaps in the middle. Every other 4xx turns the request away unread.
  const isUnread = status !== undefined && status >= 400 && status < 500 && status !== 408;
  return new ToolServerError(isUnread ? 'not-sent' : 'unknown', `${name}: ${error.message.slice(0, 500)}`);
}

/**
 * The server does not know the session any more: it turned the request away unread. The protocol says 404;
 * servers also say 400 or 401 and name the session, or 410.
 */
export function isLostSession(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  if (error.status === 404 || error.status === 410) return true;
  return (error.status === 400 || error.status === 401) && /session|not initialized/i.test(error.message);
}

/** The connection was gone before anything of the request was on it. */
export function isUnsent(error: unknown): boolean {
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected;
  return error instanceof Error && error.message === 'Not connected';
}

/** The idle limit was reached. */
export function isSilence(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

const refusedConnectionCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function isRefusedConnection(error: unknown): boolean {
  for (let current: unknown = error; current instanceof Error; current = current.cause) {
    if (refusedConnectionCodes.has((current as NodeJS.ErrnoException).code ?? '')) return true;
  }
  return false;
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error && error.message === 'fetch failed' ? error.cause : error;
  const code = (cause as NodeJS.ErrnoException).code;
  return cause.message === '' ? (code ?? cause.name) : cutResult(cause.message, longestMessageBytes);
}
