/**
 * What every failure of a model turn means for its run: one table, pure. Congestion and lost connections
 * are waited out for as long as the run lives; a failing engine gets five tries; a request that the
 * engine refuses is not repeated.
 */
import { retryAfterMs, type RetryHeaders } from './retry-after.ts';

/** A failure as the model client saw it, stripped of its library. */
export type UpstreamFailure =
  | {
      readonly kind: 'status';
      readonly status: number;
      /** `error.code` of the body. */
      readonly code: string | null;
      readonly message: string;
      readonly headers: RetryHeaders;
    }
  /** No answer came: refused, reset before the first byte, name not found. */
  | { readonly kind: 'connection'; readonly message: string }
  /** An answer began and did not end properly. */
  | { readonly kind: 'broken-stream'; readonly message: string }
  /** The answer is more than a run can keep. */
  | { readonly kind: 'too-large'; readonly message: string };

export interface FailureClass {
  /** Failure type in Temporal, stable for tests and alerts. */
  readonly type:
    | 'ModelBusy'
    | 'ModelUnreachable'
    | 'ModelServerError'
    | 'ModelStreamBroken'
    | 'ModelRequestRefused'
    | 'ReplyTooLarge';
  readonly retry: 'while-run-lives' | 'bounded' | 'never';
  /** Milliseconds until the next try; null: the activity's own backoff from 1 s to 30 s. */
  readonly delayMs: number | null;
  readonly message: string;
}

/** Tries of a turn that fails in a `bounded` way. */
export const boundedTries = 5;
const longestMessage = 2_000;

export function classifyFailure(failure: UpstreamFailure, nowMs: number): FailureClass {
  const message =
    failure.message.length > longestMessage
      ? `${failure.message.slice(0, longestMessage)}…`
      : failure.message;
  const classified = (type: FailureClass['type'], retry: FailureClass['retry']): FailureClass => ({
    type,
    retry,
    delayMs: failure.kind === 'status' && retry !== 'never' ? retryAfterMs(failure.headers, nowMs) : null,
    message,
  });
  switch (failure.kind) {
    case 'connection':
      return classified('ModelUnreachable', 'while-run-lives');
    case 'broken-stream':
      return classified('ModelStreamBroken', 'bounded');
    case 'too-large':
      return classified('ReplyTooLarge', 'never');
    case 'status':
      if (failure.status === 429 || failure.status === 503) return classified('ModelBusy', 'while-run-lives');
      // The proxy could not reach its replica: a connection failure one hop on.
      if (failure.status === 502 && failure.code === 'engine_unreachable')
        return classified('ModelUnreachable', 'while-run-lives');
      if (failure.status >= 500) return classified('ModelServerError', 'bounded');
      return classified('ModelRequestRefused', 'never');
  }
}
