/**
 * Whether a failed start says that the server speaks the protocol of another era: it was there, and it
 * refused or did not understand the opening. Pure. A server that is gone, hangs or wants other
 * credentials is not asked again in another way.
 */
import { SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';

export function isAnsweredInAnotherEra(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status !== 401 && error.status !== 403;
  if (error instanceof SdkError) {
    // Only over HTTP is the question for the era one with a limit of its own.
    if (error.code === SdkErrorCode.RequestTimeout) return /probe/i.test(error.message);
    return error.code === SdkErrorCode.EraNegotiationFailed && isUnreadable(error.cause);
  }
  if (!(error instanceof Error)) return false;
  // A JSON-RPC error, or an answer in a version that was not asked for.
  return typeof (error as { code?: unknown }).code === 'number' || /protocol version/i.test(error.message);
}

/** What answered the question for the era was no answer in any. */
function isUnreadable(cause: unknown): boolean {
  if (cause instanceof SdkError) return cause.code === SdkErrorCode.ClientHttpUnexpectedContent;
  return cause instanceof Error && cause.name === 'SyntaxError';
}
