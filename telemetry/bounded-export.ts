/**
 * The way of finished spans to the receiver: a queue with a bound, in front of OpenTelemetry's own batches,
 * that counts what it drops. It never waits for a receiver, and tells of trouble and of its end once each.
 */
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { TelemetryCounts } from './telemetry.ts';

export interface BoundedExport {
  /** Between the tracer and the processor of batches. */
  readonly gate: SpanProcessor;
  counts(): TelemetryCounts;
}

export interface BoundedExportOptions {
  /** Sends batches; its answers are counted. */
  readonly exporter: SpanExporter;
  /** Makes the processor that batches for the exporter that it is given. */
  readonly batch: (exporter: SpanExporter) => SpanProcessor;
  readonly maxSpans: number;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
}

export function createBoundedExport(options: BoundedExportOptions): BoundedExport {
  const { exporter, maxSpans, logger } = options;
  let waiting = 0;
  let exported = 0;
  let dropped = 0;
  let inTrouble = false;
  const drop = (spans: number, why: string): void => {
    dropped += spans;
    if (inTrouble) return;
    inTrouble = true;
    logger.warn({ dropped, why }, 'traces are dropped; told once until they are exported again');
  };
  const counted: SpanExporter = {
    export(spans, done) {
      waiting -= spans.length;
      exporter.export(spans, (result: ExportResult) => {
        if (result.code === ExportResultCode.SUCCESS) {
          exported += spans.length;
          if (inTrouble) logger.info({ dropped }, 'traces are exported again');
          inTrouble = false;
        } else drop(spans.length, result.error?.message ?? 'the receiver did not take them');
        done(result);
      });
    },
    shutdown: async () => await exporter.shutdown(),
    forceFlush: async () => await exporter.forceFlush?.(),
  };
  const inner = options.batch(counted);
  return {
    counts: () => ({ exported, dropped }),
    gate: {
      onStart: (span, context) => inner.onStart(span, context),
      onEnd(span: ReadableSpan) {
        if (waiting >= maxSpans) {
          drop(1, `${maxSpans} spans wait for the receiver`);
          return;
        }
        waiting += 1;
        inner.onEnd(span);
      },
      forceFlush: async () => await inner.forceFlush(),
      shutdown: async () => await inner.shutdown(),
    },
  };
}
