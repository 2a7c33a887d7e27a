import { expect, it } from 'vitest';
import type { Handle } from '../../contracts/ids.ts';
import { formatTraceparent } from '../../contracts/trace-context.ts';
import { traceCall } from '../../mcp-server/runs/trace-call.ts';
import { startedIn } from '../../mcp-server/runs/trace-spawn.ts';
import { RunTraces, runSpanId } from '../../telemetry/run-traces.ts';
import { recordingTelemetry } from '../telemetry/recording-telemetry.ts';

const parent = 'run_0000000000000000000001' as Handle;
const child = 'run_0000000000000000000002' as Handle;
const traceId = '0af7651916cd43dd8448eb211c80319c';
const callers = `00-${traceId}-b7ad6b7169203331-01`;
const others = `00-${'e'.repeat(32)}-${'f'.repeat(16)}-01`;

function setting(parentsTraceparent: string | Error) {
  const telemetry = recordingTelemetry();
  const traces = new RunTraces(telemetry, async () => {
    if (parentsTraceparent instanceof Error) throw parentsTraceparent;
    return { traceparent: parentsTraceparent };
  });
  const call = traceCall(telemetry, 'tools/call spawn', callers, {});
  return { telemetry, traces, call };
}

it('a root is started in its call, and the call in that of its client', async () => {
  const { telemetry, traces, call } = setting(others);
  const { context } = call.span ?? {};
  expect(context?.traceId).toBe(traceId);
  expect(await startedIn(traces, call, null, child)).toBe(context && formatTraceparent(context));
  call.end({ 'fermata.run.id': child }, null);
  expect(telemetry.ended).toMatchObject([{ kind: 'server', parent: { spanId: 'b7ad6b7169203331' } }]);
});

it('a child in the trace of its parent hangs on the call that asked for it', async () => {
  const { traces, call } = setting(`00-${traceId}-${'a'.repeat(16)}-01`);
  expect(await startedIn(traces, call, parent, child)).toBe(call.traceparent);
});

it('a child asked for from another trace is in that of its parent, and the call links to it', async () => {
  const { telemetry, traces, call } = setting(others);
  const spanId = runSpanId(parent);
  expect(await startedIn(traces, call, parent, child)).toBe(`00-${'e'.repeat(32)}-${spanId}-01`);
  call.end({}, null);
  expect(telemetry.ended[0]?.linked).toMatchObject([{ traceId: 'e'.repeat(32), spanId: runSpanId(child) }]);
});

it('a parent that cannot be looked up leaves the child in its call', async () => {
  const { traces, call } = setting(new Error('Temporal is away'));
  expect(await startedIn(traces, call, parent, child)).toBe(call.traceparent);
});

it('where nothing is traced a run is started with what its caller sent', async () => {
  const call = traceCall(null, 'tools/call spawn', callers, {});
  expect(call.span).toBeUndefined();
  expect(await startedIn(null, call, parent, child)).toBe(callers);
});
