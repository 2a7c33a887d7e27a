import { describe, expect, it } from 'vitest';
import { zeroCounters, type RunMemo } from '../../contracts/run.ts';
import { isClosed, viewRun, type ExecutionView, type RunEnd } from '../../mcp-server/runs/run-view.ts';

const handle = 'run_0123456789abcdefghijAB';
const counters = { ...zeroCounters, turns: 3, toolCalls: 2 };
const memo: RunMemo = {
  status: 'Running',
  phase: 'model turn 3',
  summary: 'read it',
  model: 'm',
  class: 'batch',
  caller: 'ann' as RunMemo['caller'],
  root: handle as RunMemo['root'],
  parent: null,
  counters,
  reason: null,
  partial: 'so far',
  startedAt: null,
  pendingApprovals: [],
  decidedApprovals: [],
  budget: null,
  spent: null,
};

function execution(
  name: string,
  over: Partial<RunMemo> = {},
  rest: Partial<ExecutionView> = {},
): ExecutionView {
  return {
    workflowId: handle,
    type: 'agent-run',
    status: { name },
    startTime: new Date(0),
    memo: { run: { ...memo, ...over } },
    ...rest,
  };
}

const failed = (message: string): RunEnd => ({ kind: 'failed', message });

describe('the view of a run', () => {
  it('names the tools that run now, which the memo of a turn does not know of', () => {
    const openCalls = ['web__lookup', 'web__wait'];
    expect(viewRun(execution('RUNNING', {}, { openCalls }))?.phase).toBe('tools: web__lookup, web__wait');
    expect(viewRun(execution('RUNNING', {}, { openCalls: [] }))?.phase).toBe('model turn 3');
    const awaiting = execution('RUNNING', { status: 'AwaitingApproval' }, { openCalls });
    expect(viewRun(awaiting)?.phase).toBe('model turn 3');
    expect(viewRun(execution('COMPLETED', {}, { openCalls }))?.phase).toBe('ended');
  });

  it('tells what the memo says while the run goes on', () => {
    expect(viewRun(execution('RUNNING'))).toMatchObject({
      handle,
      status: 'Running',
      phase: 'model turn 3',
      summary: 'read it',
      model: 'm',
      class: 'batch',
      counters,
      result: null,
      reason: null,
      partial: null,
      startedAt: '1970-01-01T00:00:00.000Z',
      endedAt: null,
    });
    const startedAt = '1969-12-31T23:00:00.000Z';
    expect(viewRun(execution('RUNNING', { startedAt }))?.startedAt).toBe(startedAt);
    expect(viewRun(execution('RUNNING', { status: 'AwaitingApproval' }))?.status).toBe('AwaitingApproval');
  });

  it('tells the answer of a completed run, with the counters it returned', () => {
    const value = { text: 'forty-two', cut: true, counters: { ...counters, turns: 4 } };
    expect(
      viewRun(execution('COMPLETED', { status: 'Completed' }), { kind: 'returned', value }),
    ).toMatchObject({
      status: 'Completed',
      phase: 'ended',
      result: 'forty-two',
      cutAtMaxTokens: true,
      partial: null,
      counters: { turns: 4 },
    });
  });

  it.each([
    [
      'FAILED',
      { status: 'Failed' as const, reason: 'from the memo' },
      failed('x'),
      'Failed',
      'from the memo',
    ],
    ['FAILED', {}, failed('never got to its memo'), 'Failed', 'never got to its memo'],
    ['CANCELLED', { status: 'Cancelled' as const, reason: 'enough' }, null, 'Cancelled', 'enough'],
    ['CANCELLED', {}, null, 'Cancelled', 'cancelled'],
    ['TERMINATED', {}, failed('by hand'), 'Failed', 'terminated in Temporal: by hand'],
    ['TERMINATED', { status: 'Completed' as const }, null, 'Failed', 'terminated in Temporal'],
    ['TIMED_OUT', {}, null, 'Failed', 'timed out in Temporal'],
  ])('lets Temporal win over the memo: %s with %o', (name, over, end, status, reason) => {
    expect(viewRun(execution(name, over), end)).toMatchObject({
      status,
      reason,
      phase: 'ended',
      partial: 'so far',
      result: null,
    });
  });

  it('does not take a run for ended before Temporal does', () => {
    expect(viewRun(execution('RUNNING', { status: 'Completed', phase: 'ended' }))?.status).toBe('Running');
  });

  it('never tells a failed run as a success, whatever came back', () => {
    const end: RunEnd = { kind: 'returned', value: { text: 'odd', cut: false, counters } };
    expect(viewRun(execution('FAILED'), end)).toMatchObject({ status: 'Failed', result: null });
  });

  it('does without a memo it cannot read', () => {
    const odd = execution('RUNNING', {}, { memo: { run: { status: 'Dancing' } } });
    expect(viewRun(odd)).toMatchObject({ status: 'Running', phase: 'unknown', counters: zeroCounters });
  });

  it('is none for what is not a run', () => {
    expect(viewRun(execution('RUNNING', {}, { type: 'list-tools' }))).toBeNull();
    expect(viewRun(execution('RUNNING', {}, { workflowId: 'tools_1' }))).toBeNull();
  });
});

describe('whether an execution is closed', () => {
  it.each([
    ['RUNNING', false],
    ['CONTINUED_AS_NEW', false],
    ['PAUSED', false],
    ['COMPLETED', true],
    ['FAILED', true],
    ['CANCELLED', true],
    ['TERMINATED', true],
    ['TIMED_OUT', true],
  ])('%s: %s', (name, closed) => {
    expect(isClosed({ status: { name } })).toBe(closed);
  });
});
