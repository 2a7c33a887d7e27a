/** When an upstream wants to be asked again, as the worker and the proxy read it. Pure: the time is handed in. */

/** No wait is longer, whatever the upstream says. */
export const longestRetryAfterMs = 120_000;

export interface RetryHeaders {
  /** Milliseconds; wins over `retryAfter` where it can be read. */
  readonly retryAfterMs?: string | null | undefined;
  /** Seconds, or an HTTP date. */
  readonly retryAfter?: string | null | undefined;
}

/** @returns milliseconds from `nowMs`, finite and not negative; null when no header says anything usable. */
export function retryAfterMs(headers: RetryHeaders, nowMs: number): number | null {
  const delayMs =
    decimal(headers.retryAfterMs) ?? seconds(headers.retryAfter) ?? untilDate(headers.retryAfter, nowMs);
  return delayMs === null ? null : Math.min(Math.ceil(delayMs), longestRetryAfterMs);
}

function seconds(text: string | null | undefined): number | null {
  const value = decimal(text);
  return value === null ? null : value * 1_000;
}

function decimal(text: string | null | undefined): number | null {
  const trimmed = (text ?? '').trim();
  return /^\d+(?:\.\d+)?$/.test(trimmed) ? Number(trimmed) : null;
}

function untilDate(text: string | null | undefined, nowMs: number): number | null {
  const trimmed = (text ?? '').trim();
  if (!/^[A-Za-z]{3}/.test(trimmed)) return null;
  const atMs = Date.parse(trimmed);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
