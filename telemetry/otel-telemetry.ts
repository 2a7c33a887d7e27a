/**
 * Tracing with OpenTelemetry's SDK. Nothing global is set and nothing is instrumented by itself: several
 * services of one process trace side by side, each with a queue and a name of its own.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  type Attributes as OtelAttributes,
  type Context,
  type Span,
  type SpanContext,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type IdGenerator,
  type Sampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { TraceContext } from '../contracts/trace-context.ts';
import { createBoundedExport } from './bounded-export.ts';
import type { OtelSettings, SamplerSetting } from './otel-settings.ts';
import type { Attributes, OpenSpan, SpanEnd, SpanStart, Telemetry } from './telemetry.ts';

const packageSchema = z.object({ version: z.string() });
const packageUrl = new URL('../package.json', import.meta.url);

/** What a stop waits for the receiver. */
const closeWithinMs = 3_000;

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const satisfies Record<SpanStart['kind'], SpanKind>;

export async function createOtelTelemetry(
  settings: OtelSettings,
  service: string,
  { logger }: { readonly logger: Logger },
): Promise<Telemetry> {
  const { maxSpans, batchSpans, delayMs } = settings.queue;
  const exporting = createBoundedExport({
    exporter: await createExporter(settings),
    maxSpans,
    logger,
    batch: (exporter) =>
      new BatchSpanProcessor({
        exporter,
        // One more than the gate lets through, so that none is dropped where nobody counts.
        maxQueueSize: maxSpans + 1,
        maxExportBatchSize: batchSpans,
        scheduledDelayMillis: delayMs,
        exportTimeoutMillis: settings.exportTimeoutMs + 1_000,
      }),
  });
  const { version } = packageSchema.parse(JSON.parse(readFileSync(packageUrl, 'utf8')));
  const ids = new ChosenIds();
  const sampler = samplerOf(settings.sampler);
  const provider = new TracerProvider({
    sampler,
    idGenerator: ids,
    resource: resourceFromAttributes({
      'service.name': settings.serviceName ?? service,
      'service.namespace': 'fermata',
      'service.instance.id': randomBytes(8).toString('hex'),
      'service.version': version,
      ...settings.resource,
    }),
    spanLimits: { attributeValueLengthLimit: 1_024, attributeCountLimit: 64, linkCountLimit: 64 },
    spanProcessors: [exporting.gate],
  });
  let closed: Promise<void> | null = null;
  const tracer = provider.getTracer('fermata', version);
  return {
    start(span) {
      ids.choose(span.traceId ?? null, span.spanId ?? null);
      const opened = tracer.startSpan(
        span.name,
        {
          kind: kinds[span.kind],
          attributes: otelAttributes(span.attributes),
          links: (span.links ?? []).map((context) => ({ context: otelContext(context) })),
          ...(span.startMs === undefined ? {} : { startTime: span.startMs }),
        },
        parentContext(span.parent),
      );
      return openSpan(opened);
    },
    rootContext(traceId, spanId) {
      const { decision } = sampler.shouldSample(ROOT_CONTEXT, traceId, '', SpanKind.INTERNAL, {}, []);
      return { traceId, spanId, sampled: decision === SamplingDecision.RECORD_AND_SAMPLED };
    },
    counts: exporting.counts,
    async close() {
      closed ??= withinMs(provider.shutdown(), closeWithinMs);
      await closed;
    },
  };
}

/** One of the two is loaded. */
async function createExporter(settings: OtelSettings): Promise<SpanExporter> {
  const { url, headers, exportTimeoutMs, compression } = settings;
  const options = { url, headers: { ...headers }, timeoutMillis: exportTimeoutMs, compression };
  if (settings.protocol === 'http/json') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
    return new OTLPTraceExporter(options as ConstructorParameters<typeof OTLPTraceExporter>[0]);
  }
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter(options as ConstructorParameters<typeof OTLPTraceExporter>[0]);
}

function samplerOf({ parentBased, ratio }: SamplerSetting): Sampler {
  const root = new TraceIdRatioBasedSampler(ratio);
  return parentBased ? new ParentBasedSampler({ root }) : root;
}

/** Gives the next span the ids that were chosen for it, and random ones where none were. */
class ChosenIds implements IdGenerator {
  #traceId: string | null = null;
  #spanId: string | null = null;

  choose(traceId: string | null, spanId: string | null): void {
    this.#traceId = traceId;
    this.#spanId = spanId;
  }

  generateTraceId = (): string => this.#traceId ?? randomBytes(16).toString('hex');

  generateSpanId = (): string => this.#spanId ?? randomBytes(8).toString('hex');
}

function openSpan(span: Span): OpenSpan {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    context: { traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 },
    link(context) {
      span.addLink({ context: otelContext(context) });
    },
    end({ endMs, attributes, error }: SpanEnd = {}) {
      if (attributes !== undefined) span.setAttributes(otelAttributes(attributes));
      if (error !== undefined && error !== null) {
        span.setAttribute('error.type', error);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end(endMs);
    },
  };
}

function parentContext(parent: TraceContext | null): Context {
  return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, otelContext(parent));
}

function otelContext({ traceId, spanId, sampled }: TraceContext): SpanContext {
  return { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

function otelAttributes(attributes: Attributes | undefined): OtelAttributes {
  const known = Object.entries(attributes ?? {}).flatMap(([name, value]) =>
    value === null || value === undefined
      ? []
      : [[name, typeof value === 'object' ? [...value] : value] as const],
  );
  return Object.fromEntries(known);
}

async function withinMs(work: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work.then(() => undefined).catch(() => undefined), limit]);
  clearTimeout(timer);
}
