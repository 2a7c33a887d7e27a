import type { Client } from '@temporalio/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createEndedRuns, type EndedRuns } from '../../../activities/tracing/ended-runs.ts';
import { runMemoKey, zeroCounters, type RunMemo } from '../../../contracts/run.ts';
import { RunTraces, runSpanId } from '../../../telemetry/run-traces.ts';
import { recordingTelemetry, type RecordingTelemetry } from '../../telemetry/recording-telemetry.ts';

const handle = 'run_0000000000000000000001';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const startedAt = '2026-11-30T10:00:00.000Z';
const closeTime = new Date('2026-11-30T10:05:00.000Z');

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function memo(over: Partial<RunMemo> = {}): unknown {
  return {
    status: 'Completed',
    phase: 'ended',
    summary: 'secret task',
    model: 'm',
    class: 'batch',
    caller: 'me',
    root: handle,
    parent: null,
    startedAt,
    counters: { ...zeroCounters, turns: 2, toolCalls: 1, promptTokens: 30, completionTokens: 4 },
    reason: 'secret reason',
    partial: 'secret text',
    ...over,
  };
}

interface Standing {
  readonly status: string;
  readonly memo?: unknown;
}

/** @param standings how the run stands at each look; the last stays. */
function looking(...standings: (Standing | Error)[]): {
  ended: EndedRuns;
  telemetry: RecordingTelemetry;
  looks: () => number;
} {
  const telemetry = recordingTelemetry();
  let looks = 0;
  const describe = async (): Promise<unknown> => {
    const now = standings[Math.min(looks, standings.length - 1)];
    looks += 1;
    if (now instanceof Error || now === undefined) throw now ?? new Error('no standing');
    return {
      status: { name: now.status },
      memo: { [runMemoKey]: now.memo ?? memo() },
      // Of its last workflow execution.
      startTime: new Date('2026-11-30T10:04:00.000Z'),
      ...(now.status === 'RUNNING' ? {} : { closeTime }),
    };
  };
  const client = { workflow: { getHandle: () => ({ describe }) } } as unknown as Pick<Client, 'workflow'>;
  const traces = new RunTraces(telemetry, async () => ({ traceparent: `00-${traceId}-b7ad6b7169203331-01` }));
  const ended = createEndedRuns({ telemetry, traces, client, logger: { debug: () => undefined } });
  return { ended, telemetry, looks: () => looks };
}

it('a run has one span, from its first start to its end, once Temporal has it ended', async () => {
  const { ended, telemetry } = looking({ status: 'RUNNING' }, new Error('away'), { status: 'COMPLETED' });
  ended.add(handle, 'execution');
  await vi.advanceTimersByTimeAsync(30_000);
  expect(telemetry.ended).toHaveLength(1);
  const [span] = telemetry.ended;
  expect(span).toMatchObject({
    name: 'invoke_agent',
    spanId: runSpanId(handle),
    parent: { traceId, spanId: 'b7ad6b7169203331' },
    startMs: Date.parse(startedAt),
    end: { endMs: closeTime.getTime(), error: null },
  });
  expect(span?.all).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.usage.input_tokens': 30,
    'fermata.run.status': 'Completed',
    'fermata.turns': 2,
    'fermata.tool_calls': 1,
  });
  expect(JSON.stringify(span)).not.toContain('secret');
});

it('a report that is repeated makes no second span', async () => {
  const { ended, telemetry } = looking({ status: 'COMPLETED' });
  ended.add(handle, 'execution');
  ended.add(handle, 'execution');
  await vi.advanceTimersByTimeAsync(30_000);
  ended.add(handle, 'execution');
  await vi.advanceTimersByTimeAsync(30_000);
  expect(telemetry.ended).toHaveLength(1);
});

it.each([
  ['CANCELLED', memo({ status: 'Cancelled' }), 'cancelled'],
  ['FAILED', memo({ status: 'Failed' }), 'failed'],
  ['TERMINATED', { not: 'a memo' }, 'failed'],
  [
    'CANCELLED',
    memo({
      status: 'Cancelled',
      budget: {
        limits: { tokens: 1 },
        used: { tokens: 2, toolCalls: 0, seconds: 1 },
        exceeded: 'tokens',
        isShared: false,
      },
    }),
    'budget_tokens',
  ],
])('a run that ended as %s fails its span', async (status, standing, error) => {
  const { ended, telemetry } = looking({ status, memo: standing });
  ended.add(handle, 'execution');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(telemetry.ended.map(({ end }) => end.error)).toEqual([error]);
});

it('a run that goes on running in Temporal is told of at the last look, and looked at no more', async () => {
  const { ended, telemetry, looks } = looking({ status: 'RUNNING' });
  ended.add(handle, 'execution');
  await vi.advanceTimersByTimeAsync(120_000);
  expect(telemetry.ended).toHaveLength(1);
  expect(looks()).toBe(6);
});

it('a worker that stops tells of the runs that it waits for, at once', async () => {
  const { ended, telemetry } = looking({ status: 'COMPLETED' });
  ended.add(handle, 'execution');
  await ended.close();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(telemetry.ended).toHaveLength(1);
});
