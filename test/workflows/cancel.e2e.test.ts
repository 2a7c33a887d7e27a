import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { chunk } from '../activities/fake-model.ts';
import { startRunStack, type RunStack } from './run-stack.ts';

let stack: RunStack;

beforeAll(async () => {
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: (request) => request.say('no script'),
  });
});
afterAll(async () => await stack?.close());

async function expectCancelled(handle: WorkflowHandle): Promise<void> {
  const error: unknown = await handle.result().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  expect((error as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure);
  const { status } = await handle.describe();
  expect(status.name).toBe('CANCELLED');
  expect(stack.model.endedRuns).toContain(handle.workflowId);
}

describe('a cancel (D03)', () => {
  it('ends a run in the middle of its model stream, and the request with it', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request) => request.write(chunk({ content: 'once upon' })));
    const handle = await stack.start({ task: 'tell', tools: [] });
    await stack.model.waitForRequests(before + 1);
    const cancelledMs = performance.now();
    await handle.cancel();
    await stack.model.waitForEnd(handle.workflowId);
    await expectCancelled(handle);
    expect(performance.now() - cancelledMs).toBeLessThan(15_000);
    await stack.model.requests[before]?.clientLeft;
    expect(performance.now() - cancelledMs).toBeLessThan(15_000);
    expect(await stack.memo(handle)).toMatchObject({
      status: 'Cancelled',
      phase: 'ended',
      reason: 'cancelled by request',
    });
  });

  it('ends a run whose turn is held, and keeps its counters, its last text and the reason', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request, index) => {
      if (index > before) return;
      request.write(chunk({ content: 'Let me see.' }));
      request.call([{ name: 'kit__lookup', arguments: { topic: 'a' } }]);
    });
    const handle = await stack.start({ task: 'look' });
    await stack.model.waitForRequests(before + 2);
    await stack.client.workflowService.requestCancelWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: handle.workflowId },
      reason: 'not needed any more',
    });
    await expectCancelled(handle);
    expect(await stack.memo(handle)).toMatchObject({
      status: 'Cancelled',
      reason: 'not needed any more',
      partial: 'Let me see.',
      counters: { turns: 1, toolCalls: 1, promptTokens: 100 },
    });
    await stack.model.requests[before + 1]?.clientLeft;
  });

  it('reaches the tool server during a call', async () => {
    stack.model.script((request) =>
      request.call([{ name: 'kit__wait', arguments: { milliseconds: 500_000 } }]),
    );
    const handle = await stack.start({ task: 'wait' });
    await stack.tools.waitFor((calls) => calls.tools['wait']?.started === 1, 60_000);
    const cancelledMs = performance.now();
    await handle.cancel();
    await stack.tools.waitFor((calls) => calls.tools['wait']?.cancelled === 1, 60_000);
    expect(performance.now() - cancelledMs).toBeLessThan(10_000);
    await expectCancelled(handle);
  });

  it('ends a run that waits to try again', async () => {
    stack.model.script((request) =>
      request.json(503, { error: { message: 'busy' } }, { 'retry-after': '100' }),
    );
    const before = stack.model.requests.length;
    const handle = await stack.start({ task: 'try', tools: [] });
    await stack.model.waitForRequests(before + 1);
    await handle.cancel();
    await expectCancelled(handle);
    expect(stack.model.requests).toHaveLength(before + 1);
  });
});
