/** An OTLP receiver in the test's own process: real HTTP, JSON or protobuf, and every span that came. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { decodeTraces } from './otlp-protobuf.ts';

const valueSchema = z.object({
  stringValue: z.string().optional(),
  intValue: z.coerce.number().optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
  arrayValue: z.object({ values: z.array(z.object({ stringValue: z.string() })).default([]) }).optional(),
});
const attributesSchema = z
  .array(z.object({ key: z.string(), value: valueSchema }))
  .default([])
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, plain(value)])));
const spanSchema = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes: attributesSchema,
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).default([]),
  status: z.object({ code: z.number().default(0), message: z.string().optional() }).default({ code: 0 }),
});
const exportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: attributesSchema }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
    }),
  ),
});

function plain(value: z.output<typeof valueSchema>): unknown {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(({ stringValue }) => stringValue);
  return value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue;
}

export interface ReceivedSpan {
  readonly service: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly traceId: string;
  readonly spanId: string;
  /** null: a root. */
  readonly parentSpanId: string | null;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly failed: boolean;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** How it answers from now on; `hang`: never. */
  answer(how: 'ok' | 'fail' | 'hang'): void;
  /** Environment that makes a service export here, at once. */
  environment(more?: Record<string, string>): Record<string, string>;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  let how: 'ok' | 'fail' | 'hang' = 'ok';
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      requests.push({ path: request.url ?? '', headers: request.headers });
      if (how === 'hang') return;
      if (how === 'fail') {
        response.writeHead(400).end();
        return;
      }
      const whole = Buffer.concat(pieces);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(whole) : whole;
      const isJson = request.headers['content-type'] === 'application/json';
      spans.push(...read(isJson ? JSON.parse(body.toString('utf8')) : decodeTraces(body)));
      response.writeHead(200, { 'content-type': request.headers['content-type'] ?? '' });
      response.end(isJson ? '{}' : '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    spans,
    requests,
    answer(next) {
      how = next;
    },
    environment: (more = {}) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '20',
      ...more,
    }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function read(body: unknown): ReceivedSpan[] {
  return exportSchema.parse(body).resourceSpans.flatMap(({ resource: { attributes }, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: String(attributes['service.name']),
        resource: attributes,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId === undefined || span.parentSpanId === '' ? null : span.parentSpanId,
        name: span.name,
        kind: span.kind,
        startMs: Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1_000,
        endMs: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1_000,
        attributes: span.attributes,
        links: span.links,
        failed: span.status.code === 2,
      })),
    ),
  );
}
