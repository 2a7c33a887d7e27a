/**
 * What every failure of a model turn means for its run: one table, pure. Congestion and lost connections
 * are waited out for as long as the run lives; a failing engine gets five tries; a request that the
 * engine refuses is not repeated.
 */
import type { EngineRefusal } from '../../contracts/engine-refusal.ts';
import { retryAfterMs, type RetryHeaders } from '../../contracts/retry-after.ts';

/** A failure as the model client saw it, stripped of its library. */
export type UpstreamFailure =
  | {
      readonly kind: 'status';
      readonly status: number;
      /** `error.code` of the body. */
      readonly code: string | null;
      readonly message: string;
      readonly headers: RetryHeaders;
      /** What the engine means by it, where its body tells. */
      readonly refusal: EngineRefusal | null;
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
    /** The prompt is longer than the model's context. */
    | 'ModelContextTooLong'
    /** The prompt fits, but the answer that was asked for does not fit beside it. */
    | 'ModelOutputBudget'
    | 'ReplyTooLarge';
  readonly retry: 'while-run-lives' | 'bounded' | 'never';
  /** Milliseconds until the next try: what the upstream asks for, or 1 s, growing; null: there is none. */
  readonly delayMs: number | null;
  readonly message: string;
}

/** Tries of a turn that fails in a `bounded` way. */
export const boundedTries = 5;
const longestMessage = 2_000;

/**
 * @param attempt number of this failure among those in a row, from 1: waits that an upstream names grow with it, so that one that
 *   stays full is not asked at a steady pace.
 */
export function classifyFailure(failure: UpstreamFailure, attempt: number, nowMs: number): FailureClass {
  const message = messageOf(failure);
  const classified = (type: FailureClass['type'], retry: FailureClass['retry']): FailureClass => ({
    type,
    retry,
    delayMs: retry === 'never' ? null : delayOf(failure, attempt, nowMs),
    message: message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message,
  });
  switch (failure.kind) {
    case 'connection':
      return classified('ModelUnreachable', 'while-run-lives');
    case 'broken-stream':
      return classified('ModelStreamBroken', 'bounded');
    case 'too-large':
      return classified('ReplyTooLarge', 'never');
    case 'status':
      // An engine may tell these with 500 as well: no try will change them.
      if (failure.refusal?.kind === 'context_too_long') return classified('ModelContextTooLong', 'never');
      if (failure.refusal?.kind === 'output_budget') return classified('ModelOutputBudget', 'never');
      if (failure.status === 429 || failure.status === 503) return classified('ModelBusy', 'while-run-lives');
      // The proxy could not reach its replica: a connection failure one hop on.
      if (failure.status === 502 && failure.code === 'engine_unreachable')
        return classified('ModelUnreachable', 'while-run-lives');
      if (failure.status >= 500) return classified('ModelServerError', 'bounded');
      return classified('ModelRequestRefused', 'never');
  }
}

/** Longest wait that grows by itself; what an upstream names may be longer. */
const longestBackoffMs = 30_000;
/** The same where the proxy does not answer: it is our own, takes a moment to start, and is asked cheaply. */
const longestBackoffOfProxyMs = 5_000;
/** What the wait grows from where an upstream names none. */
const firstBackoffMs = 1_000;
/** What no wait at all grows from. */
const shortestBackoffMs = 100;

function delayOf(failure: UpstreamFailure, attempt: number, nowMs: number): number {
  const headers: RetryHeaders = failure.kind === 'status' ? failure.headers : {};
  const longestMs = failure.kind === 'connection' ? longestBackoffOfProxyMs : longestBackoffMs;
  const asked = retryAfterMs(headers, nowMs) ?? firstBackoffMs;
  if (attempt <= 1) return asked;
  const grownMs = (asked === 0 ? shortestBackoffMs : asked) * 2 ** (attempt - 1);
  return Math.max(asked, Math.min(longestMs, grownMs));
}

/** The engine's words, after what they mean for a run and what can be done. */
function messageOf(failure: UpstreamFailure): string {
  if (failure.kind !== 'status' || failure.refusal === null) return failure.message;
  const { kind, promptTokens, limitTokens, message } = failure.refusal;
  const limit = limitTokens === null ? '' : ` of ${limitTokens} tokens`;
  const prompt = promptTokens === null ? '' : ` of ${promptTokens} tokens`;
  switch (kind) {
    case 'context_too_long':
      return `the conversation${prompt} does not fit into the model's context${limit}: ${message}`;
    case 'output_budget':
      return `the answer asked for does not fit beside the conversation${prompt} into the model's limit${limit}; lower maxTokens: ${message}`;
    case 'bad_request':
    case 'rate_limit':
      return failure.message;
    default:
      return kind satisfies never;
  }
}
