import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { transcriptQuery } from '../../contracts/run.ts';
import { chunk } from '../activities/fake-model.ts';
import { startRunStack, type RunStack } from './run-stack.ts';
import { startWorkerProcess } from './worker-process.ts';

let stack: RunStack;

beforeAll(async () => {
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: (request) => request.say('no script'),
    startWorker: false,
  });
});
afterAll(async () => await stack?.close());

const toolTexts = async (run: { query<T>(name: string): Promise<T> }): Promise<string[]> => {
  const transcript = await run.query<{ role: string; content: string }[]>(transcriptQuery);
  return transcript.filter((message) => message.role === 'tool').map((message) => message.content);
};

describe('a worker that is killed', () => {
  it('during a call that must not be repeated leaves its outcome unknown, never doubled', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request, index) => {
      if (index > before) request.say('I will check.');
      else request.call([{ name: 'kit__wait', arguments: { milliseconds: 300_000 } }]);
    });
    const doomed = await startWorkerProcess(stack.workerConfig);
    const handle = await stack.start({ task: 'wait' });
    await stack.tools.waitFor((calls) => calls.tools['wait']?.started === 1, 60_000);
    await doomed.kill();
    const killedMs = performance.now();
    const worker = await stack.newWorker();
    expect(await handle.result()).toMatchObject({
      text: 'I will check.',
      counters: { turns: 2, toolCalls: 1, failedToolCalls: 1 },
    });
    expect(performance.now() - killedMs).toBeLessThan(40_000);
    expect(await toolTexts(handle)).toEqual([
      expect.stringMatching(/^Error: the outcome of this call is unknown/),
    ]);
    expect(stack.tools.calls().tools['wait']?.started).toBe(1);
    expect(stack.model.requests).toHaveLength(before + 2);
    await worker.close();
  });

  it('during a model turn loses that attempt only: another worker repeats the turn under its number', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request, index) => {
      if (index === before) request.call([{ name: 'kit__add_note', arguments: { text: 'once' } }]);
      else if (index === before + 1) request.write(chunk({ content: 'I beg' }));
      else request.say('whole answer');
    });
    const doomed = await startWorkerProcess(stack.workerConfig);
    const handle = await stack.start({ task: 'note' });
    await stack.model.waitForRequests(before + 2);
    await doomed.kill();
    const worker = await stack.newWorker();
    expect(await handle.result()).toMatchObject({
      text: 'whole answer',
      counters: { turns: 2, toolCalls: 1 },
    });
    const turns = stack.model.requests.slice(before).map((request) => request.headers['x-fermata-turn']);
    expect(turns).toEqual(['1', '2', '2']);
    expect(stack.tools.calls().tools['add_note']?.started).toBe(1);
    // However many attempts are lost with their workers, the next one does not wait longer and longer.
    const { events } = await handle.fetchHistory();
    const policies = events?.flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled }) =>
        (scheduled?.activityType?.name === 'modelTurn' ? scheduled.retryPolicy?.backoffCoefficient : null) ??
        [],
    );
    expect(policies).toEqual([1, 1]);
    await worker.close();
  });
});

describe('a worker that is asked to stop', () => {
  it('hands a model turn on, and the run goes on as if nothing had happened', async () => {
    const before = stack.model.requests.length;
    stack.model.script((request, index) => {
      if (index === before) request.write(chunk({ content: 'I beg' }));
      else request.say('whole answer');
    });
    const leaving = await startWorkerProcess(stack.workerConfig);
    const handle = await stack.start({ task: 'say', tools: [] });
    await stack.model.waitForRequests(before + 1);
    const worker = await stack.newWorker();
    expect(await leaving.stop()).toBe(0);
    expect(await handle.result()).toMatchObject({
      text: 'whole answer',
      counters: { turns: 1, toolCalls: 0 },
    });
    await worker.close();
  });

  it('lets a call that must not be repeated end first', async () => {
    const before = stack.model.requests.length;
    const started = stack.tools.calls().tools['wait']?.started ?? 0;
    stack.model.script((request, index) => {
      if (index > before) request.say('done');
      else request.call([{ name: 'kit__wait', arguments: { milliseconds: 4_000 } }]);
    });
    const leaving = await startWorkerProcess(stack.workerConfig);
    const handle = await stack.start({ task: 'wait' });
    await stack.tools.waitFor((calls) => calls.tools['wait']?.started === started + 1, 60_000);
    const worker = await stack.newWorker();
    expect(await leaving.stop()).toBe(0);
    expect(await handle.result()).toMatchObject({ text: 'done', counters: { failedToolCalls: 0 } });
    expect(await toolTexts(handle)).toEqual(['Waited 4000 ms.']);
    expect(stack.tools.calls().tools['wait']?.started).toBe(started + 1);
    await worker.close();
  });
});
