/** A Telemetry that keeps what was ended, and nothing else. */
import type { TraceContext } from '../../contracts/trace-context.ts';
import type { Attributes, SpanEnd, SpanStart, Telemetry } from '../../telemetry/telemetry.ts';

export interface RecordedSpan extends SpanStart {
  readonly context: TraceContext;
  readonly end: SpanEnd;
  readonly all: Attributes;
  readonly linked: readonly TraceContext[];
}

export interface RecordingTelemetry extends Telemetry {
  readonly ended: readonly RecordedSpan[];
  readonly started: readonly SpanStart[];
}

export function recordingTelemetry(): RecordingTelemetry {
  const ended: RecordedSpan[] = [];
  const started: SpanStart[] = [];
  return {
    ended,
    started,
    start(span) {
      started.push(span);
      const linked: TraceContext[] = [...(span.links ?? [])];
      const context: TraceContext = {
        traceId: span.parent?.traceId ?? span.traceId ?? 'c'.repeat(32),
        spanId: span.spanId ?? String(started.length).padStart(16, 'd'),
        sampled: span.parent?.sampled ?? true,
      };
      return {
        context,
        link: (other) => void linked.push(other),
        end(end = {}) {
          ended.push({ ...span, context, end, linked, all: { ...span.attributes, ...end.attributes } });
        },
      };
    },
    rootContext: (traceId, spanId) => ({ traceId, spanId, sampled: true }),
    counts: () => ({ exported: ended.length, dropped: 0 }),
    close: async () => {},
  };
}
