import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTelemetry } from '../../telemetry/open-telemetry.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { eventually } from '../cli/run-up.ts';
import { startOtlpReceiver, type OtlpReceiver } from './otlp-receiver.ts';

let receiver: OtlpReceiver;
const opened: Telemetry[] = [];
const log: Record<string, unknown>[] = [];
beforeEach(async () => {
  receiver = await startOtlpReceiver();
  log.length = 0;
});
afterEach(async () => {
  for (const telemetry of opened.splice(0)) await telemetry.close();
  await receiver.close();
});

async function open(more: Record<string, string> = {}, service = 'fermata-test'): Promise<Telemetry> {
  const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(JSON.parse(line)) });
  const telemetry = await openTelemetry(receiver.environment(more), service, { logger });
  if (telemetry === null) throw new Error('telemetry is off');
  opened.push(telemetry);
  return telemetry;
}

function spans(telemetry: Telemetry, count: number): void {
  for (let index = 0; index < count; index += 1) {
    telemetry.start({ name: `span ${index}`, kind: 'internal', parent: null }).end();
  }
}

it.each(['http/json', 'http/protobuf'])('a span comes as it was made, in %s', async (protocol) => {
  const telemetry = await open({
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20key',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=lab',
  });
  const traceId = 'ab'.repeat(16);
  const parent = { traceId, spanId: 'cd'.repeat(8), sampled: true };
  const span = telemetry.start({
    name: 'chat m',
    kind: 'client',
    parent,
    spanId: '12'.repeat(8),
    startMs: 1_700_000_000_000,
    attributes: {
      text: 'a',
      count: 3,
      share: 0.5,
      yes: true,
      list: ['x', 'y'],
      none: null,
      absent: undefined,
    },
  });
  span.link({ traceId: 'ef'.repeat(16), spanId: '34'.repeat(8), sampled: true });
  span.end({ endMs: 1_700_000_000_250.5, attributes: { more: 1 }, error: 'late' });
  expect(span.context).toEqual({ traceId, spanId: '12'.repeat(8), sampled: true });
  await eventually('the span is exported', () => receiver.spans.length > 0);
  expect(receiver.spans).toEqual([
    expect.objectContaining({
      service: 'fermata-test',
      traceId,
      spanId: '12'.repeat(8),
      parentSpanId: parent.spanId,
      name: 'chat m',
      kind: 3,
      startMs: 1_700_000_000_000,
      endMs: 1_700_000_000_250.5,
      attributes: {
        text: 'a',
        count: 3,
        share: 0.5,
        yes: true,
        list: ['x', 'y'],
        more: 1,
        'error.type': 'late',
      },
      links: [{ traceId: 'ef'.repeat(16), spanId: '34'.repeat(8) }],
      failed: true,
    }),
  ]);
  expect(receiver.spans[0]?.resource).toMatchObject({
    'service.namespace': 'fermata',
    'service.version': expect.stringMatching(/^\d+\.\d+\.\d+/),
    'deployment.environment.name': 'lab',
  });
  expect(receiver.requests[0]).toMatchObject({
    path: '/v1/traces',
    headers: { authorization: 'Bearer key' },
  });
});

it('services of one process trace side by side, each by its name unless one is set for all', async () => {
  spans(await open({}, 'fermata-proxy'), 1);
  spans(await open({}, 'fermata-worker'), 1);
  spans(await open({ OTEL_SERVICE_NAME: 'mine' }, 'fermata-worker'), 1);
  await eventually('all are exported', () => receiver.spans.length === 3);
  expect(receiver.spans.map(({ service }) => service).toSorted()).toEqual([
    'fermata-proxy',
    'fermata-worker',
    'mine',
  ]);
});

it('a stop exports what waits, and what comes later is nowhere', async () => {
  const telemetry = await open({ OTEL_BSP_SCHEDULE_DELAY: '60000' });
  spans(telemetry, 700);
  await telemetry.close();
  expect(receiver.spans).toHaveLength(700);
  spans(telemetry, 1);
  await telemetry.close();
  expect(telemetry.counts()).toEqual({ exported: 700, dropped: 0 });
});

it('while the receiver hangs no more wait than the queue has places, and the rest is counted and told once', async () => {
  receiver.answer('hang');
  const telemetry = await open({ OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5' });
  spans(telemetry, 5);
  await eventually('a batch is on its way', () => receiver.requests.length === 1);
  spans(telemetry, 500);
  expect(telemetry.counts()).toEqual({ exported: 0, dropped: 490 });
  expect(log).toHaveLength(1);
  expect(log[0]).toMatchObject({ level: 40, msg: expect.stringContaining('traces are dropped') });
});

it('a receiver that refuses costs its batches, is told of once, and is used again when it is back', async () => {
  receiver.answer('fail');
  const telemetry = await open({ OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5' });
  spans(telemetry, 20);
  await eventually('all are dropped', () => telemetry.counts().dropped === 20);
  receiver.answer('ok');
  spans(telemetry, 3);
  await eventually('the rest is exported', () => receiver.spans.length === 3);
  await eventually('it is counted', () => telemetry.counts().exported === 3);
  expect(log.map(({ msg }) => msg)).toEqual([
    expect.stringContaining('traces are dropped'),
    expect.stringContaining('exported again'),
  ]);
});

it('a share of the traces that begin here is kept, the same ones by every service', async () => {
  const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
  const one = await open(ratio);
  const other = await open(ratio);
  const traceIds = Array.from({ length: 200 }, (_, index) =>
    ((BigInt(index + 1) * 0x9e3779b97f4a7c15f39cc0605cedc835n) % (1n << 128n)).toString(16).padStart(32, '0'),
  );
  const kept = (telemetry: Telemetry): string[] =>
    traceIds.filter((traceId) => telemetry.rootContext(traceId, '1'.repeat(16)).sampled);
  expect(kept(one)).toEqual(kept(other));
  expect(kept(one).length).toBeGreaterThan(50);
  expect(kept(one).length).toBeLessThan(150);
  for (const traceId of traceIds) one.start({ name: 'root', kind: 'internal', parent: null, traceId }).end();
  await one.close();
  expect(receiver.spans.map((span) => span.traceId).toSorted()).toEqual(kept(one).toSorted());
});
