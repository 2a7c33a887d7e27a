/**
 * What a simulated server has been asked, for tests to look at and to wait for. Bounded: the oldest
 * records go first, and a body is kept only up to 64 KiB; counts are kept of everything.
 */
import type { IncomingHttpHeaders } from 'node:http';

export type RequestPhase =
  | 'received'
  | 'waiting'
  | 'streaming'
  | 'finished'
  | 'refused'
  | 'failed'
  | 'aborted';

export interface RequestRecord {
  /** 1 for the first request of this engine. */
  readonly number: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** `x-fermata-run-id`, or its alias. */
  readonly runId: string | null;
  /** `x-fermata-turn`. */
  readonly turn: string | null;
  readonly arrivedAtMs: number;
  /** Parsed; null while it is read, and when it is longer than 64 KiB. */
  body: unknown;
  bodyBytes: number;
  phase: RequestPhase;
  /** Status answered; null before. */
  status: number | null;
  firstByteAtMs: number | null;
  /** When the client left before the end; null if it did not. */
  abortedAtMs: number | null;
  endedAtMs: number | null;
  /** Events of the stream written so far. */
  chunksSent: number;
  promptTokens: number | null;
  cachedTokens: number | null;
  completionTokens: number;
  finishReason: string | null;
}

export interface RequestCounts {
  readonly received: number;
  /** Received and neither answered in full nor left by the client. */
  readonly active: number;
  readonly finished: number;
  readonly refused: number;
  readonly failed: number;
  readonly aborted: number;
}

/** What a test's condition looks at. */
export interface RequestView {
  /** Oldest first. */
  readonly records: readonly RequestRecord[];
  readonly counts: RequestCounts;
}

export interface RequestLog {
  view(): RequestView;
  add(record: RequestRecord): void;
  /** To be called after a record was changed. */
  changed(): void;
  end(record: RequestRecord, phase: 'finished' | 'refused' | 'failed' | 'aborted'): void;
  waitFor<T>(condition: (view: RequestView) => T, timeoutMs?: number): Promise<NonNullable<T>>;
  close(): void;
}

export const keptBodyBytes = 64 * 1024;
const maxWaiters = 1_000;

interface Waiter {
  readonly check: () => boolean;
  readonly fail: (reason: string) => void;
}

/** @param maxRecords how many requests are remembered. */
export function createRequestLog(maxRecords: number): RequestLog {
  const records: RequestRecord[] = [];
  const counts = { received: 0, active: 0, finished: 0, refused: 0, failed: 0, aborted: 0 };
  const waiters = new Set<Waiter>();
  const view = (): RequestView => ({ records, counts });
  const changed = (): void => {
    for (const waiter of waiters) if (waiter.check()) waiters.delete(waiter);
  };
  return {
    view,
    changed,
    add(record) {
      records.push(record);
      if (records.length > maxRecords) records.shift();
      counts.received += 1;
      counts.active += 1;
      changed();
    },
    end(record, phase) {
      if (record.endedAtMs !== null) return;
      record.phase = phase;
      record.endedAtMs = Date.now();
      if (phase === 'aborted') record.abortedAtMs = record.endedAtMs;
      counts.active -= 1;
      counts[phase] += 1;
      changed();
    },
    async waitFor(condition, timeoutMs = 10_000) {
      return await waitOn(condition, timeoutMs, view, waiters);
    },
    close() {
      for (const waiter of waiters) waiter.fail('the server was closed');
      waiters.clear();
    },
  };
}

async function waitOn<T>(
  condition: (view: RequestView) => T,
  timeoutMs: number,
  view: () => RequestView,
  waiters: Set<Waiter>,
): Promise<NonNullable<T>> {
  if (waiters.size >= maxWaiters) throw new Error(`more than ${maxWaiters} conditions are awaited`);
  return await new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      clearTimeout(timer);
      reject(new Error(`condition not met, ${reason}: ${JSON.stringify(view().counts)}`));
    };
    const check = (): boolean => {
      try {
        const value = condition(view());
        if (value === null || value === undefined || value === false) return false;
        clearTimeout(timer);
        resolve(value);
      } catch (error) {
        clearTimeout(timer);
        reject(error instanceof Error ? error : new Error(String(error)));
      }
      return true;
    };
    const waiter = { check, fail };
    const timer = setTimeout(() => {
      waiters.delete(waiter);
      fail(`${timeoutMs} ms passed`);
    }, timeoutMs);
    if (!check()) waiters.add(waiter);
  });
}
