import { expect, it } from 'vitest';
import { derivedSpanId, derivedTraceId } from '../../telemetry/derived-ids.ts';
import { RunTraces, runSpanId, runTraceOf } from '../../telemetry/run-traces.ts';
import { recordingTelemetry } from './recording-telemetry.ts';

const root = 'run_0000000000000000000001';
const child = 'run_0000000000000000000002';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const caller = { traceId, spanId: 'b7ad6b7169203331', sampled: true };
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const telemetry = recordingTelemetry();

it('ids are the same wherever they are worked out, and others for anything else', () => {
  expect(derivedSpanId('turn', root, 1)).toBe('9b4e6603d055c478');
  const ids = [
    derivedSpanId('turn', root, 1),
    derivedSpanId('turn', root, 2),
    derivedSpanId('turn', child, 1),
    derivedSpanId('call', root, 1),
    derivedSpanId('turn', `${root},1`),
    runSpanId(root),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
  expect(derivedTraceId('run', root)).toMatch(/^[0-9a-f]{32}$/);
});

it('a run that was started in a trace is a child of who started it', () => {
  expect(runTraceOf(telemetry, root, { traceparent })).toEqual({
    context: { traceId, spanId: runSpanId(root), sampled: true },
    parent: caller,
  });
});

it('what its caller does not keep is not kept', () => {
  const { context } = runTraceOf(telemetry, root, { traceparent: traceparent.replace(/01$/, '00') });
  expect(context.sampled).toBe(false);
});

it('without a trace a tree is one, below its root', () => {
  const above = runTraceOf(telemetry, root, {});
  const below = runTraceOf(telemetry, child, { parent: root, root });
  expect(above.parent).toBeNull();
  expect(below.context.traceId).toBe(above.context.traceId);
  expect(below.parent).toEqual(above.context);
  expect(runTraceOf(telemetry, root, { traceparent: 'nonsense' })).toEqual(above);
});

it('a run is looked up once, as it was started or as it went on', async () => {
  const asked: unknown[] = [];
  const inputs: Record<string, unknown> = {
    [root]: { task: 't', traceparent },
    [child]: { continuation: 1, handle: child, input: { traceparent, parent: root, root }, messages: [] },
  };
  const traces = new RunTraces(telemetry, async (handle, executionId) => {
    asked.push([handle, executionId]);
    return inputs[handle];
  });
  for (const handle of [root, child, root, child]) {
    expect(await traces.of(handle, 'x')).toEqual(runTraceOf(telemetry, handle, { traceparent }));
  }
  expect(asked).toEqual([
    [root, 'x'],
    [child, 'x'],
  ]);
});

it('a run that is told of its trace is not looked up, and one that cannot be is asked for again', async () => {
  let fails = true;
  const traces = new RunTraces(telemetry, async () => {
    if (fails) throw new Error('Temporal is away');
    return {};
  });
  expect(await traces.of(root, null, traceparent)).toEqual(runTraceOf(telemetry, root, { traceparent }));
  expect(await traces.of(child, null)).toBeNull();
  fails = false;
  expect(await traces.of(child, null)).toEqual(runTraceOf(telemetry, child, {}));
});
