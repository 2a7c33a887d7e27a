import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { chunk } from '../../activities/fake-model.ts';
import { startRunStack, type RunStack } from '../run-stack.ts';
import { startWorkerProcess } from '../worker-process.ts';

let stack: RunStack;

beforeAll(async () => {
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: (request) => request.say('no script'),
  });
});
afterAll(async () => await stack?.close());

/** Replies that call tools for ever; each reports 100 prompt and 10 completion tokens. */
function callForEver(toolNames: readonly string[] = ['kit__lookup']): void {
  stack.model.script((request) => {
    request.write(chunk({ content: 'Let me look.' }));
    request.call(toolNames.map((name, index) => ({ id: `c${index}`, name, arguments: { topic: 'a' } })));
  });
}

async function expectCancelled(handle: WorkflowHandle): Promise<void> {
  const error: unknown = await handle.result().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  expect((error as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure);
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(stack.model.endedRuns).toContain(handle.workflowId);
}

describe('a budget of a run without a tree', () => {
  it('of tokens ends it before the turn that may not fit any more, with what it has so far', async () => {
    callForEver();
    const handle = await stack.start({
      task: 'look',
      tools: ['kit__lookup'],
      maxToolCalls: 1_000,
      maxTokens: 20,
      budget: { tokens: 1_500 },
    });
    await expectCancelled(handle);
    const memo = await stack.memo(handle);
    expect(memo.reason).toMatch(
      /^budget exceeded: tokens \d+\/1500 \(the next turn may take \d+; \d+ left\)$/,
    );
    expect(memo).toMatchObject({
      status: 'Cancelled',
      partial: 'Let me look.',
      budget: { limits: { tokens: 1_500 }, exceeded: 'tokens' },
    });
    const { turns, promptTokens, completionTokens } = memo.counters;
    expect(turns).toBeGreaterThan(3);
    expect(memo.budget?.used.tokens).toBe(promptTokens + completionTokens);
    expect(promptTokens + completionTokens).toBeLessThanOrEqual(1_500);
    expect(memo.reason).toContain(`tokens ${promptTokens + completionTokens}/1500`);
  });

  it('of tool calls ends it before the round that does not fit, and runs none of that round', async () => {
    const before = stack.tools.calls().tools['lookup']?.started ?? 0;
    callForEver(['kit__lookup', 'kit__lookup']);
    const handle = await stack.start({
      task: 'look',
      tools: ['kit__lookup'],
      maxToolCalls: 1_000,
      budget: { toolCalls: 5 },
    });
    await expectCancelled(handle);
    expect(await stack.memo(handle)).toMatchObject({
      reason: 'budget exceeded: toolCalls 4/5 (the next round needs 2; 1 left)',
      counters: { turns: 3, toolCalls: 4 },
      budget: { used: { toolCalls: 4 }, exceeded: 'toolCalls' },
    });
    expect(stack.tools.calls().tools['lookup']?.started).toBe(before + 4);
  });

  it('of seconds ends it while its turn is held, and the request with it', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request) => request.write(chunk({ content: 'once upon' })));
    const handle = await stack.start({ task: 'tell', tools: [], budget: { seconds: 2 } });
    await stack.model.waitForRequests(before + 1);
    await expectCancelled(handle);
    await stack.model.requests[before]?.clientLeft;
    const memo = await stack.memo(handle);
    expect(memo).toMatchObject({
      status: 'Cancelled',
      reason: 'budget exceeded: seconds 2/2',
      budget: { limits: { seconds: 2 }, exceeded: 'seconds' },
    });
    expect(memo.budget?.used.seconds).toBeGreaterThanOrEqual(2);
  });

  it('of seconds ends it while it waits for an approval, with nothing at work', async () => {
    stack.model.script((request) => request.call([{ name: 'kit__lookup', arguments: { topic: 'a' } }]));
    const handle = await stack.start({
      task: 'look',
      tools: ['kit__lookup'],
      approveTools: ['kit__lookup'],
      budget: { seconds: 2 },
    });
    await expectCancelled(handle);
    expect(await stack.memo(handle)).toMatchObject({
      reason: 'budget exceeded: seconds 2/2',
      pendingApprovals: [],
      budget: { exceeded: 'seconds' },
    });
  });

  it('of seconds stops a tool call in its middle', async () => {
    const before = stack.tools.calls().tools['wait']?.cancelled ?? 0;
    stack.model.script((request) =>
      request.call([{ name: 'kit__wait', arguments: { milliseconds: 500_000 } }]),
    );
    const handle = await stack.start({ task: 'wait', tools: ['kit__wait'], budget: { seconds: 2 } });
    await stack.tools.waitFor((calls) => (calls.tools['wait']?.cancelled ?? 0) > before, 60_000);
    await expectCancelled(handle);
    expect((await stack.memo(handle)).budget).toMatchObject({ exceeded: 'seconds' });
  });

  it('that is not reached shows what was used of it, exactly', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request, index) => {
      if (index > before) request.say('done');
      else request.call([{ name: 'kit__lookup', arguments: { topic: 'a' } }]);
    });
    const limits = { tokens: 10_000, toolCalls: 3, seconds: 3_600 };
    const handle = await stack.start({ task: 'look', budget: limits });
    expect(await handle.result()).toMatchObject({ text: 'done', spent: { tokens: 220, toolCalls: 1 } });
    expect(await stack.memo(handle)).toMatchObject({
      status: 'Completed',
      budget: { limits, used: { tokens: 220, toolCalls: 1 }, exceeded: null },
    });
  });

  it('lets a last reply that goes beyond its reservation stand, and shows by how much', async () => {
    stack.model.script((request) => {
      request.write(
        chunk({ content: 'a very long answer' }),
        chunk({}, 'stop'),
        `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 100, completion_tokens: 900 } })}\n\n`,
        'data: [DONE]\n\n',
      );
      request.end();
    });
    const handle = await stack.start({ task: 'tell', tools: [], budget: { tokens: 600 } });
    expect(await handle.result()).toMatchObject({ text: 'a very long answer' });
    expect((await stack.memo(handle)).budget).toMatchObject({ used: { tokens: 1_000 }, exceeded: null });
  });

  it('holds after its worker was killed: nothing is counted twice, and the time goes on', async () => {
    const before = stack.model.requests.length;
    const lone = await startRunStack({
      temporalAddress: inject('temporalAddress'),
      workflowBundlePath: inject('workflowBundlePath'),
      script: (request, index) => {
        if (index === 1) request.write(chunk({ content: 'I beg' }));
        else request.call([{ id: `c${index}`, name: 'kit__lookup', arguments: { topic: 'a' } }]);
      },
      startWorker: false,
    });
    try {
      const doomed = await startWorkerProcess(lone.workerConfig);
      const handle = await lone.start({
        task: 'look',
        tools: ['kit__lookup'],
        maxToolCalls: 1_000,
        budget: { toolCalls: 3, seconds: 600 },
      });
      await lone.model.waitForRequests(2);
      await doomed.kill();
      await lone.newWorker();
      await handle.result().catch(() => undefined);
      expect(await lone.memo(handle)).toMatchObject({
        reason: 'budget exceeded: toolCalls 3/3 (the next round needs 1; 0 left)',
        counters: { turns: 4, toolCalls: 3, promptTokens: 400 },
        budget: { used: { tokens: 440, toolCalls: 3 }, exceeded: 'toolCalls' },
      });
    } finally {
      await lone.close();
    }
    expect(stack.model.requests.length).toBe(before);
  });
});
