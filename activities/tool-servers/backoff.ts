/** Waits that double with each failure in a row. Pure: the time is handed in. */

export interface Backoff {
  failed(nowMs: number): void;
  succeeded(): void;
  /** Milliseconds until the next try is due; 0: now. */
  waitMs(nowMs: number): number;
}

export function createBackoff(limits: { readonly firstMs: number; readonly longestMs: number }): Backoff {
  let delayMs = 0;
  let dueMs = 0;
  return {
    failed(nowMs) {
      delayMs = delayMs === 0 ? limits.firstMs : Math.min(delayMs * 2, limits.longestMs);
      dueMs = nowMs + delayMs;
    },
    succeeded() {
      delayMs = 0;
      dueMs = 0;
    },
    waitMs: (nowMs) => Math.max(0, dueMs - nowMs),
  };
}
