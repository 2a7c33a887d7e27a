import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTelemetry } from '../../telemetry/open-telemetry.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../telemetry/otlp-receiver.ts';
import { chat, post, chatBody, chatPath, startStack, until, type Stack } from './stack.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${parentId}-01`;

let receiver: OtlpReceiver;
let telemetry: Telemetry;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
  telemetry = await tracing();
});
afterEach(async () => {
  await telemetry.close();
  await receiver.close();
});

async function tracing(more: Record<string, string> = {}): Promise<Telemetry> {
  const opened = await openTelemetry(receiver.environment(more), 'fermata-proxy', {
    logger: pino({ level: 'silent' }),
  });
  if (opened === null) throw new Error('telemetry is off');
  return opened;
}

async function spans(count: number): Promise<readonly ReceivedSpan[]> {
  await until(() => receiver.spans.length >= count, `${count} spans are exported`);
  return receiver.spans;
}

function named(all: readonly ReceivedSpan[], name: string): ReceivedSpan[] {
  return all.filter((span) => span.name === name);
}

function answering({ engines }: Stack): void {
  for (const engine of engines) {
    engine.answer((call) => {
      const usage = { prompt_tokens: 11, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } };
      call.json(200, { choices: [{ finish_reason: 'stop', message: { content: 'secret words' } }], usage });
    });
  }
}

it('a turn has one span below its client and an admit below that, and the engine is told of the span', async () => {
  const stack = await startStack({ telemetry });
  answering(stack);
  const sent = { messages: [{ role: 'user', content: 'secret question' }] };
  await chat(stack.proxy, sent, { traceparent, tracestate: 'vendor=1', 'x-fermata-run-id': 'r1' });
  const all = await spans(2);
  const [turn] = named(all, 'POST /v1/chat/completions');
  const [admit] = named(all, 'admit');
  expect(all).toHaveLength(2);
  expect(turn).toMatchObject({ traceId, parentSpanId: parentId, kind: 2, failed: false });
  expect(turn?.resource).toMatchObject({ 'service.name': 'fermata-proxy', 'service.namespace': 'fermata' });
  expect(turn?.attributes).toMatchObject({
    'http.response.status_code': 200,
    'gen_ai.request.model': 'm-test',
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.output_tokens': 2,
    'gen_ai.usage.cache_read.input_tokens': 4,
    'fermata.replica': 'engine-0',
    'fermata.outcome': 'done',
  });
  expect(admit).toMatchObject({ traceId, parentSpanId: turn?.spanId, kind: 1, failed: false });
  expect(admit?.attributes).toMatchObject({ 'fermata.replica': 'engine-0', 'fermata.attempt': 1 });
  expect(admit?.startMs).toBeGreaterThanOrEqual((turn?.startMs ?? 0) - 1);
  expect(admit?.endMs).toBeLessThanOrEqual((turn?.endMs ?? 0) + 1);
  const [call] = stack.engine.calls;
  expect(call?.headers['traceparent']).toBe(`00-${traceId}-${turn?.spanId}-01`);
  expect(call?.headers['tracestate']).toBe('vendor=1');
  expect(stack.log.at(-1)).toMatchObject({ trace: traceId, run: expect.stringContaining('r1') });
  expect(JSON.stringify(all)).not.toContain('secret');
});

it('each attempt of a turn has an admit of its own, and the turn stays one span', async () => {
  const stack = await startStack({ telemetry, engines: 2, limits: { queueFullDelayMs: 1 } });
  let asked = 0;
  for (const engine of stack.engines) {
    engine.answer((call) => (asked++ === 0 ? call.json(503, {}) : call.json(200, {})));
  }
  expect((await chat(stack.proxy, {}, { traceparent })).status).toBe(200);
  const all = await spans(3);
  const [turn] = named(all, 'POST /v1/chat/completions');
  const admits = named(all, 'admit');
  expect(admits.map(({ attributes }) => attributes['fermata.attempt'])).toEqual([1, 2]);
  expect(new Set(admits.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([turn?.spanId]));
  expect(turn?.attributes['fermata.attempts']).toBe(2);
});

it('without a trace of the client a turn is the root of one, and foreign trace state goes no further', async () => {
  const stack = await startStack({ telemetry });
  answering(stack);
  await chat(stack.proxy, {}, { traceparent: 'nonsense', tracestate: 'vendor=1' });
  const [turn] = named(await spans(2), 'POST /v1/chat/completions');
  expect(turn?.parentSpanId).toBeNull();
  expect(stack.engine.calls[0]?.headers['traceparent']).toBe(`00-${turn?.traceId}-${turn?.spanId}-01`);
  expect(stack.engine.calls[0]?.headers).not.toHaveProperty('tracestate');
});

it('a turn that is refused, and one whose engine breaks off, are errors by kind and without words', async () => {
  const refusing = await startStack({ telemetry, rule: () => null });
  const client = post(refusing.proxy, chatPath, chatBody(), { traceparent });
  await until(() => refusing.scheduler.of('turnArrived').length > 0, 'the turn is held');
  client.leave();
  const [left] = named(await spans(2), 'admit');
  expect(left).toMatchObject({ failed: true, attributes: { 'error.type': 'abandoned' } });
  const breaking = await startStack({ telemetry });
  breaking.engine.answer((call) => {
    call.head(200, { 'content-type': 'text/event-stream' });
    call.write('data: {"choices":[{"delta":{"content":"secret"}}]}\n\n');
    setImmediate(() => call.reset());
  });
  await chat(breaking.proxy, { stream: true });
  const all = await spans(4);
  const broken = named(all, 'POST /v1/chat/completions').at(-1);
  expect(broken).toMatchObject({ failed: true, attributes: { 'error.type': 'failed' } });
  expect(JSON.stringify(all)).not.toContain('secret');
});

it('a trace that its client does not keep is not exported, and its context goes on', async () => {
  const stack = await startStack({ telemetry });
  answering(stack);
  await chat(stack.proxy, {}, { traceparent: traceparent.replace(/01$/, '00') });
  await chat(stack.proxy, {}, { traceparent });
  const all = await spans(2);
  expect(all).toHaveLength(2);
  expect(new Set(all.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(stack.engine.calls[0]?.headers['traceparent']).toMatch(
    new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`),
  );
});

it('a receiver that hangs holds up neither a turn nor the stop for more than seconds', async () => {
  receiver.answer('hang');
  const stack = await startStack({ telemetry });
  answering(stack);
  for (let turn = 0; turn < 5; turn += 1) expect((await chat(stack.proxy)).status).toBe(200);
  const stoppedAtMs = performance.now();
  await telemetry.close();
  expect(performance.now() - stoppedAtMs).toBeLessThan(30_000);
  expect(telemetry.counts().exported).toBe(0);
});
