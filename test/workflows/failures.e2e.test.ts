import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { transcriptQuery } from '../../contracts/run.ts';
import type { RunResult } from '../../contracts/run.ts';
import { chunk, type FakeRequest } from '../activities/fake-model.ts';
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

/** The failure that a run ends with; its memo must say the same. */
async function failureOf(handle: WorkflowHandle): Promise<ApplicationFailure> {
  const error: unknown = await handle.result().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  const { cause } = error as WorkflowFailedError;
  expect(cause).toBeInstanceOf(ApplicationFailure);
  const memo = await stack.memo(handle);
  expect(memo.status).toBe('Failed');
  expect(memo.reason).toBe(cause?.message);
  return cause as ApplicationFailure;
}

const toolResults = (request: FakeRequest): string[] =>
  request.body.messages
    .filter((message) => message['role'] === 'tool')
    .map((message) => String(message['content']));

describe('a model request that fails', () => {
  it('is not repeated after a 400, and no tool runs again (D05)', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request, index) => {
      if (index === before) request.call([{ name: 'kit__add_note', arguments: { text: 'charge' } }]);
      else if (index === before + 1) request.json(400, { error: { message: 'bad prompt', code: 'bad' } });
      else request.say('should not be asked');
    });
    const failure = await failureOf(await stack.start({ task: 'pay' }));
    expect(failure).toMatchObject({
      type: 'ModelRequestRefused',
      message: expect.stringContaining('bad prompt') as string,
    });
    expect(stack.model.requests).toHaveLength(before + 2);
    expect(stack.tools.calls().tools['add_note']?.started).toBe(1);
  });

  it('is repeated under its turn number while the pool is busy, and tried five times when it fails', async () => {
    const before = stack.model.requests.length;
    const statuses = [503, 500, 429, 500, 503, 500, 500];
    stack.model.script((request, index) => {
      const status = statuses[index - before];
      if (status === undefined) request.say('at last');
      else request.json(status, { error: { message: `status ${status}` } }, { 'retry-after-ms': '1' });
    });
    const handle = await stack.start({ task: 'insist', tools: [] });
    expect(await handle.result()).toMatchObject({ text: 'at last', counters: { turns: 1 } });
    const turns = stack.model.requests.slice(before).map((request) => request.headers['x-fermata-turn']);
    expect(turns).toEqual(Array.from({ length: 8 }, () => '1'));

    const second = stack.model.requests.length;
    stack.model.script((request, index) => {
      if (index % 2 === 0) request.json(500, { error: { message: 'broken' } }, { 'retry-after-ms': '1' });
      else request.json(503, { error: { message: 'busy' } }, { 'retry-after-ms': '1' });
    });
    const failure = await failureOf(await stack.start({ task: 'insist', tools: [] }));
    expect(failure).toMatchObject({
      type: 'ModelServerError',
      message: expect.stringContaining('5 tries') as string,
    });
    const served = stack.model.requests.length - second;
    expect(served).toBeGreaterThanOrEqual(9);
    expect(served).toBeLessThanOrEqual(10);
  });

  it('is repeated when its stream breaks off, and half an answer is never one', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request, index) => {
      if (index > before) return request.say('whole');
      request.write(chunk({ content: 'half an ans' }));
      request.end();
    });
    const handle = await stack.start({ task: 'say', tools: [] });
    expect(await handle.result()).toMatchObject({ text: 'whole', counters: { turns: 1 } });
  });
});

describe('the end of a run', () => {
  it('is that of its answer, also when the proxy is gone and nobody can be told', async () => {
    stack.model.script((request) => request.say('done'));
    stack.model.hearEnds(false);
    const handle = await stack.start({ task: 'say', tools: [] });
    expect(await handle.result()).toMatchObject({ text: 'done' });
    expect(await stack.memo(handle)).toMatchObject({ status: 'Completed', reason: null });
    expect(stack.model.endedRuns).not.toContain(handle.workflowId);
    stack.model.hearEnds(true);
  });
});

describe('too much (D01)', () => {
  it('of a model answer fails the run with a reason', async () => {
    stack.model.script((request) => {
      const piece = chunk({ content: 'x'.repeat(100_000) });
      for (let count = 0; count < 25; count += 1) request.write(piece);
      request.say('end');
    });
    const failure = await failureOf(await stack.start({ task: 'flood', tools: [] }));
    expect(failure).toMatchObject({
      type: 'ReplyTooLarge',
      message: expect.stringContaining('maxTokens') as string,
    });
  });

  it('of an error text fails the run with the start of it', async () => {
    stack.model.script((request) => request.json(400, { error: { message: 'y'.repeat(3_000_000) } }));
    const failure = await failureOf(await stack.start({ task: 'err', tools: [] }));
    expect(failure.message.length).toBeLessThan(3_000);
  });
});

describe('calls that cannot be run', () => {
  it('are told to the model, cost no tool run and count as failed', async () => {
    const before = stack.model.requests.length;
    const lookups = stack.tools.calls().tools['lookup']?.started ?? 0;
    stack.model.script((request, index) => {
      const replies: (() => void)[] = [
        () => request.call([{ name: 'lookup', arguments: { topic: 'a' } }]),
        () => request.call([{ name: 'kit__lookup', arguments: { subject: 'a' } }]),
        () => request.call([{ name: 'kit__lookup', arguments: '{"topic":"a' }], 'length'),
        () => request.call([{ name: 'kit__fail', arguments: { reason: 'on purpose' } }]),
      ];
      (replies[index - before] ?? (() => request.say('gave up')))();
    });
    const handle = await stack.start({ task: 'stumble' });
    const result = (await handle.result()) as RunResult;
    expect(result).toMatchObject({
      text: 'gave up',
      counters: { turns: 5, toolCalls: 4, failedToolCalls: 4 },
    });
    const last = stack.model.requests.at(-1);
    const told = last === undefined ? [] : toolResults(last);
    expect(told).toEqual([
      expect.stringContaining("Did you mean 'kit__lookup'?"),
      expect.stringContaining('topic: missing'),
      expect.stringContaining('cut off'),
      expect.stringMatching(/^Error: .*on purpose/),
    ]);
    expect(stack.tools.calls().tools['lookup']?.started ?? 0).toBe(lookups);
  });

  it('end the run when the same unknown name comes six times', async () => {
    stack.model.script((request) => request.call([{ name: 'generic_command', arguments: {} }]));
    const failure = await failureOf(await stack.start({ task: 'stubborn', maxToolCalls: 30 }));
    expect(failure).toMatchObject({
      type: 'UnknownToolRepeated',
      message: expect.stringContaining('generic_command') as string,
    });
  });

  it('are the tools that a run asks for and nobody has', async () => {
    const failure = await failureOf(await stack.start({ task: 'x', tools: ['kit__lookup', 'kit__nothing'] }));
    expect(failure).toMatchObject({
      type: 'ToolsUnavailable',
      message: expect.stringContaining('kit__nothing') as string,
    });
  });

  it('are those past the tool budget: the model gets no tools and answers', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request) => {
      if (request.body.tools === undefined) request.say('out of calls');
      else request.call([{ name: 'kit__lookup', arguments: { topic: 'more' } }]);
    });
    const handle = await stack.start({ task: 'more', maxToolCalls: 2 });
    expect(await handle.result()).toMatchObject({
      text: 'out of calls',
      counters: { turns: 3, toolCalls: 2 },
    });
    expect(stack.model.requests.length - before).toBe(3);
  });
});

describe('an input that cannot be used', () => {
  it('fails the run with what is wrong', async () => {
    const handle = await stack.start({ task: '', maxTokens: -1 });
    const error: unknown = await handle.result().catch((reason: unknown) => reason);
    expect((error as WorkflowFailedError).cause?.message).toMatch(/task: .*maxTokens: /);
  });
});

describe('calls of one reply', () => {
  it('run side by side when the run says so, with their results in call order', async () => {
    const before = stack.model.requests.length;
    const waits = stack.tools.calls().tools['wait']?.finished ?? 0;
    stack.model.script((request, index) => {
      if (index > before) return request.say('done');
      request.call([
        { name: 'kit__wait', arguments: { milliseconds: 1_500 } },
        { name: 'kit__wait', arguments: { milliseconds: 10 } },
      ]);
    });
    const handle = await stack.start({ task: 'both', parallelToolCalls: true });
    await stack.tools.waitFor(
      (calls) => calls.running === 2 || (calls.tools['wait']?.finished ?? 0) > waits + 1,
      60_000,
    );
    expect(await handle.result()).toMatchObject({ text: 'done', counters: { toolCalls: 2 } });
    const transcript = await handle.query<{ role: string; content: string }[]>(transcriptQuery);
    expect(transcript.filter((message) => message.role === 'tool').map((message) => message.content)).toEqual(
      ['Waited 1500 ms.', 'Waited 10 ms.'],
    );
    const order = stack.tools
      .calls()
      .lines.filter((line) => line.tool === 'wait')
      .slice(-4)
      .map((line) => line.phase);
    expect(order).toEqual(['started', 'started', 'finished', 'finished']);
  });
});
