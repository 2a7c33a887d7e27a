/**
 * What the services see of tracing: spans that are begun and ended, by ids that may be chosen. Nothing of
 * OpenTelemetry is named or loaded here; `open-telemetry.ts` does that, and only when it is asked for.
 */
import type { TraceContext } from '../contracts/trace-context.ts';

export type AttributeValue = string | number | boolean | readonly string[];
/** By name; what is null or undefined is left out. */
export type Attributes = Readonly<Record<string, AttributeValue | null | undefined>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  /** null: the span is the root of a trace. */
  readonly parent: TraceContext | null;
  /** Of a root; absent: a random one. */
  readonly traceId?: string;
  /** Absent: a random one. */
  readonly spanId?: string;
  /** Milliseconds since the epoch; absent: now. */
  readonly startMs?: number;
  readonly attributes?: Attributes;
  readonly links?: readonly TraceContext[];
}

export interface SpanEnd {
  /** Milliseconds since the epoch; absent: now. */
  readonly endMs?: number;
  readonly attributes?: Attributes;
  /** `error.type`, and that the span failed; absent or null: it did not. */
  readonly error?: string | null;
}

/** A span that has begun. One that is never ended is never exported and costs nothing. */
export interface OpenSpan {
  readonly context: TraceContext;
  link(context: TraceContext): void;
  end(end?: SpanEnd): void;
}

export interface TelemetryCounts {
  readonly exported: number;
  /** Not exported: the queue was full, or the receiver away. */
  readonly dropped: number;
}

export interface Telemetry {
  start(span: SpanStart): OpenSpan;
  /** The context of a span that is the root of a trace and not begun here: whether it is kept is settled by its trace id. */
  rootContext(traceId: string, spanId: string): TraceContext;
  counts(): TelemetryCounts;
  /** Exports what waits, for at most some seconds; what is ended later is dropped. Never rejects. */
  close(): Promise<void>;
}
