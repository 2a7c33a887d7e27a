/**
 * What a simulated server has been asked, for tests to look at and to wait for. Bounded: the oldest
 * records go first, and a body is kept only up to 64 KiB; counts are kept of everything.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { createConditions, type Conditions } from '../conditions.ts';

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

export interface RequestLog extends Conditions<RequestView> {
  view(): RequestView;
  add(record: RequestRecord): void;
  end(record: RequestRecord, phase: 'finished' | 'refused' | 'failed' | 'aborted'): void;
}

export const keptBodyBytes = 64 * 1024;
/** @param maxRecords how many requests are remembered. */
export function createRequestLog(maxRecords: number): RequestLog {
  const records: RequestRecord[] = [];
  const counts = { received: 0, active: 0, finished: 0, refused: 0, failed: 0, aborted: 0 };
  const view = (): RequestView => ({ records, counts });
  const { changed, waitFor, close } = createConditions(view, (seen) => seen.counts);
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
    waitFor,
    close,
  };
}
