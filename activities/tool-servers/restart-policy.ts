/**
 * When a tool server may be started, or connected to, again. Pure: the time is handed in. A failure to
 * open waits 1 s, doubled with each one in a row up to 30 s. So does an early end, but for the first: a
 * server may be restarted by whoever runs it.
 */
import { createBackoff } from './backoff.ts';

export interface ConnectionEnd {
  readonly openedAtMs: number;
  readonly endedAtMs: number;
  /** It was given up after it had been of use: a lost session costs a request, not a process. */
  readonly replaced: boolean;
}

export interface RestartPolicy {
  openFailed(nowMs: number): void;
  opened(): void;
  ended(end: ConnectionEnd): void;
  /** Milliseconds until the next try is due; 0: now. */
  waitMs(nowMs: number): number;
}

/** A connection that lives this long was no failure. */
const steadyMs = 30_000;

export function createRestartPolicy(): RestartPolicy {
  const backoff = createBackoff({ firstMs: 1_000, longestMs: 30_000 });
  let earlyEnds = 0;
  return {
    openFailed: (nowMs) => backoff.failed(nowMs),
    opened() {
      // After early ends it has to stay up first.
      if (earlyEnds === 0) backoff.succeeded();
    },
    ended({ openedAtMs, endedAtMs, replaced }) {
      if (endedAtMs - openedAtMs >= steadyMs || replaced) {
        earlyEnds = 0;
        backoff.succeeded();
        return;
      }
      earlyEnds += 1;
      if (earlyEnds > 1) backoff.failed(endedAtMs);
    },
    waitMs: (nowMs) => backoff.waitMs(nowMs),
  };
}
