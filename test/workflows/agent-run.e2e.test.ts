import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { toolsQuery, transcriptQuery } from '../../contracts/run.ts';
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

describe('a run', () => {
  it('goes from its task through tool calls to its answer', async () => {
    stack.model.script((request) => {
      const results = request.body.messages.filter((message) => message['role'] === 'tool');
      if (results.length === 0) request.call([{ name: 'kit__lookup', arguments: { topic: 'fermata' } }]);
      else request.say(`I know: ${String(results[0]?.['content']).slice(0, 7)}`);
    });
    const before = stack.model.requests.length;
    const handle = await stack.start({ task: 'What is a fermata?\nBe short.' });
    const result = await handle.result();
    expect(result).toMatchObject({
      text: 'I know: fermata',
      cut: false,
      counters: {
        turns: 2,
        toolCalls: 1,
        failedToolCalls: 0,
        promptTokens: 200,
        completionTokens: 20,
        cachedTokens: 120,
      },
    });
    // 7 ms a turn by the proxy's word, and never more than the turn itself took.
    expect(result.counters.heldMs).toBeGreaterThan(0);
    expect(result.counters.heldMs).toBeLessThanOrEqual(14);
    expect(await stack.memo(handle)).toMatchObject({
      status: 'Completed',
      phase: 'ended',
      summary: 'What is a fermata?',
      model: 'fake',
      reason: null,
      partial: null,
    });
    const requests = stack.model.requests.slice(before);
    expect(requests.map((request) => request.headers['x-fermata-turn'])).toEqual(['1', '2']);
    expect(requests[0]?.headers).toMatchObject({
      'x-fermata-run-id': handle.workflowId,
      'x-fermata-class': 'interactive',
      'x-fermata-caller': 'tests',
    });
    expect(stack.model.endedRuns).toContain(handle.workflowId);
    const transcript = await handle.query<{ role: string }[]>(transcriptQuery);
    expect(transcript.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(await handle.query<unknown[], [number]>(transcriptQuery, 1)).toHaveLength(1);
    expect(await handle.query<unknown[]>(toolsQuery)).not.toHaveLength(0);
  });
});
