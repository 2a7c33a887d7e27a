import { describe, expect, it } from 'vitest';
import { createdTask, taskOf } from '../../mcp-server/mcp/task-state.ts';
import { madeRun } from './made-run.ts';

const now = new Date(2_000_000);
const approval = (index: number) => ({ id: `apr_${index}`, tool: 'web__delete', arguments: '{"page":"a"}' });

describe('a run as a task', () => {
  it('works while the run does, and is as new as the look at it', () => {
    expect(taskOf(madeRun('a', { phase: 'model turn 3' }), true, now)).toEqual({
      taskId: madeRun('a').handle,
      status: 'working',
      statusMessage: 'model turn 3',
      createdAt: madeRun('a').startedAt,
      lastUpdatedAt: now.toISOString(),
      ttlMs: null,
      pollIntervalMs: 1_000,
    });
  });

  it('asks about every call that waits, as many as one reply can have', () => {
    const pendingApprovals = Array.from({ length: 50 }, (_, index) => approval(index));
    const task = taskOf(madeRun('a', { status: 'AwaitingApproval', pendingApprovals }), true, now);
    expect(task.status).toBe('input_required');
    expect(Object.keys('inputRequests' in task ? task.inputRequests : {})).toEqual(
      pendingApprovals.map(({ id }) => id),
    );
  });

  it('names what waits for a client that cannot be asked', () => {
    const run = madeRun('a', { status: 'AwaitingApproval', pendingApprovals: [approval(1)] });
    const task = taskOf(run, false, now);
    expect(task.status).toBe('working');
    expect(task.statusMessage).toContain('web__delete');
    expect(task.statusMessage).toContain(`approve with handle ${run.handle}`);
  });

  it.each(['Completed', 'Failed'] as const)(
    'is completed when the run is %s, with what it came to',
    (status) => {
      const endedAt = new Date(1_500_000).toISOString();
      const run = madeRun('a', { status, endedAt, result: 'the answer', reason: 'the engine said no' });
      const task = taskOf(run, true, now);
      expect(task).toMatchObject({ status: 'completed', lastUpdatedAt: endedAt });
      expect('result' in task ? task.result : null).toMatchObject({
        resultType: 'complete',
        structuredContent: { done: true, runs: [{ status }] },
      });
    },
  );

  it('is cancelled with the reason and the partial text, which no result tells', () => {
    const reason = 'budget exceeded: tokens 120/100';
    const task = taskOf(madeRun('a', { status: 'Cancelled', reason, partial: 'half of it' }), true, now);
    expect(task.status).toBe('cancelled');
    expect(task.statusMessage).toContain(reason);
    expect(task.statusMessage).toContain('half of it');
  });

  it('says a bounded lot', () => {
    const task = taskOf(madeRun('a', { status: 'Cancelled', partial: 'x'.repeat(1_000_000) }), true, now);
    expect(task.statusMessage.length).toBeLessThanOrEqual(4_000);
  });

  it('is told when it is created without what only a look at it carries', () => {
    const run = madeRun('a', { status: 'Completed', result: 'r' });
    expect(createdTask(taskOf(run, true, now), ['the model was not checked'])).toEqual({
      resultType: 'task',
      taskId: run.handle,
      status: 'completed',
      statusMessage: 'completed\nnote: the model was not checked',
      createdAt: run.startedAt,
      lastUpdatedAt: now.toISOString(),
      ttlMs: null,
      pollIntervalMs: 1_000,
    });
  });
});
