import { ApplicationFailure, CancelledFailure, type Context, type Info } from '@temporalio/activity';
import { expect, it } from 'vitest';
import { activitySpans } from '../../../activities/tracing/activity-spans.ts';
import { derivedSpanId } from '../../../telemetry/derived-ids.ts';
import { RunTraces, runSpanId } from '../../../telemetry/run-traces.ts';
import { recordingTelemetry, type RecordingTelemetry } from '../../telemetry/recording-telemetry.ts';

const handle = 'run_0000000000000000000001';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

interface Seen {
  readonly telemetry: RecordingTelemetry;
  readonly ended: string[];
  attempt(
    activityType: string,
    attempt: number,
    input: unknown,
    work: (input: never) => unknown,
  ): Promise<unknown>;
}

function worker(read: () => unknown = () => ({ traceparent })): Seen {
  const telemetry = recordingTelemetry();
  const ended: string[] = [];
  const traces = new RunTraces(telemetry, async () => read());
  const factory = activitySpans({ telemetry, traces, onRunEnded: (run) => void ended.push(run) });
  return {
    telemetry,
    ended,
    async attempt(activityType, attempt, input, work) {
      const info = {
        activityType,
        attempt,
        scheduledTimestampMs: 1_000,
        workflowExecution: { workflowId: handle, runId: 'execution' },
      } as unknown as Info;
      const { inbound } = factory({ info } as unknown as Context);
      const execute = inbound?.execute;
      if (execute === undefined) throw new Error('no interceptor');
      return await execute({ args: [input], headers: {} }, async ({ args }) => work(args[0] as never));
    },
  };
}

const turn = { turn: 3, model: 'm', class: 'batch', caller: 'me', maxTokens: 0, traceparent };
const reply = {
  message: { role: 'assistant', content: 'secret' },
  calls: [{}, {}],
  finishReason: 'tool_calls',
  model: 'm-1',
  promptTokens: 10,
  completionTokens: 5,
  cachedTokens: 4,
  modelMs: 20,
  heldMs: 7,
};
const call = { callId: 'c1', server: 'web', serverTool: 'lookup', arguments: '{"q":"secret"}', attempts: 3 };

it('a turn is one span below its run, which the proxy is told of', async () => {
  const { telemetry, attempt } = worker();
  const spanId = derivedSpanId('turn', handle, 3);
  let sent: unknown;
  await attempt('modelTurn', 1, turn, (input) => {
    sent = input;
    return reply;
  });
  expect(sent).toEqual({ ...turn, traceparent: `00-${traceId}-${spanId}-01` });
  const [span] = telemetry.ended;
  expect(telemetry.ended).toHaveLength(1);
  expect(span).toMatchObject({ name: 'chat m', kind: 'client', spanId, end: { error: null } });
  expect(span?.parent).toMatchObject({ traceId, spanId: runSpanId(handle) });
  expect(span?.all).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.response.model': 'm-1',
    'gen_ai.response.finish_reasons': ['tool_calls'],
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': 4,
    'fermata.turn': 3,
    'fermata.held_ms': 7,
    'fermata.attempts': 1,
  });
  expect(JSON.stringify(span)).not.toContain('secret');
});

it('attempts that are made again leave one span, from the first of them on, with the same id', async () => {
  const { telemetry, attempt } = worker();
  const retryable = ApplicationFailure.retryable('secret words of an engine', 'EngineFailed');
  const sent: string[] = [];
  const failing = attempt('modelTurn', 1, turn, (input: typeof turn) => {
    sent.push(input.traceparent);
    throw retryable;
  });
  await expect(failing).rejects.toBe(retryable);
  expect(telemetry.ended).toEqual([]);
  // Another worker, which knows nothing of the first.
  const other = worker();
  await other.attempt('modelTurn', 2, turn, (input: typeof turn) => {
    sent.push(input.traceparent);
    return reply;
  });
  expect(sent[0]).toBe(sent[1]);
  expect(other.telemetry.ended).toHaveLength(1);
  expect(other.telemetry.ended[0]).toMatchObject({ startMs: 1_000, all: { 'fermata.attempts': 2 } });
});

it.each([
  [ApplicationFailure.nonRetryable('secret words', 'ContextTooLong'), 'ContextTooLong'],
  [new CancelledFailure('secret reason'), 'cancelled'],
])('a failure that is final ends the span with its kind and no word of it', async (failure, error) => {
  const { telemetry, attempt } = worker();
  const failing = attempt('modelTurn', 1, turn, () => {
    throw failure;
  });
  await expect(failing).rejects.toBe(failure);
  expect(telemetry.ended.map(({ end }) => end.error)).toEqual([error]);
  expect(JSON.stringify(telemetry.ended)).not.toContain('secret');
});

it('a call is one span, its server is told of it, and a tool that fails fails its span', async () => {
  const { telemetry, attempt } = worker();
  const spanId = derivedSpanId('call', handle, 'c1');
  const sent: unknown[] = [];
  await attempt('callTool', 1, call, (input) => {
    sent.push(input);
    return { content: 'secret result', failed: true, toolMs: 3 };
  });
  expect(sent).toEqual([{ ...call, traceparent: `00-${traceId}-${spanId}-01` }]);
  expect(telemetry.ended).toHaveLength(1);
  expect(telemetry.ended[0]).toMatchObject({
    name: 'execute_tool lookup',
    spanId,
    all: { 'gen_ai.tool.name': 'lookup', 'gen_ai.tool.call.id': 'c1', 'fermata.tool_server': 'web' },
    end: { error: 'tool_failed' },
  });
  expect(JSON.stringify(telemetry.ended)).not.toContain('secret');
});

it('a run whose trace cannot be found out goes on without spans', async () => {
  const { telemetry, attempt } = worker(() => {
    throw new Error('Temporal is away');
  });
  expect(await attempt('callTool', 1, call, (input) => input)).toEqual(call);
  expect(telemetry.started).toEqual([]);
});

it('the end of a run is told of once its report is through or has failed, and other activities have no span', async () => {
  const { telemetry, ended, attempt } = worker();
  await attempt('reportRunEnded', 1, handle, () => undefined);
  const failing = attempt('reportRunEnded', 1, handle, () => {
    throw new Error('the proxy is away');
  });
  await expect(failing).rejects.toThrow('away');
  await attempt('listTools', 1, null, () => []);
  expect(ended).toEqual([handle, handle]);
  expect(telemetry.started).toEqual([]);
});
