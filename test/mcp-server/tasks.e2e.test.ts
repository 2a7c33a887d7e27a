/** Runs as tasks of the extension `io.modelcontextprotocol/tasks`, read from Temporal by whoever is asked. */
import { randomUUID } from 'node:crypto';
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { bearer, namedToken, serviceToken, testAccess, tokenOf } from '../auth/test-access.ts';
import { startService } from '../service-process.ts';
import { allow, bound, decline, deleting, deletionsOf } from './deleting-runs.ts';
import { startStack, type Stack } from './stack.ts';
import { connectTaskSession, taskClient, type SeenTask, type TaskClient } from './task-client.ts';

let stack: Stack;
let ann: TaskClient;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    access: testAccess([namedToken('ann'), namedToken('ben')]),
  });
  ann = clientOf('ann');
});
afterAll(async () => {
  await stack.close();
});

function clientOf(name: string, over: Parameters<typeof taskClient>[1] = {}, url = stack.mcpUrl): TaskClient {
  return taskClient(url, { headers: bearer(tokenOf(name)), ...over });
}

async function reaches(client: TaskClient, taskId: string, status: SeenTask['status']): Promise<SeenTask> {
  return await vi.waitFor(async () => {
    const task = await client.get(taskId);
    expect(task.status).toBe(status);
    return task;
  }, bound);
}

describe('a run as a task', () => {
  it('is answered with at once, works, and ends with what run would have answered', async () => {
    const held = stack.holding('the answer');
    const started = await ann.start({ task: held.task });
    expect(started).toMatchObject({ resultType: 'task', status: 'working' });
    expect(started.taskId).toMatch(/^run_/);
    await held.held;
    expect(await ann.get(started.taskId)).toMatchObject({
      resultType: 'complete',
      status: 'working',
      createdAt: started.createdAt,
    });
    held.release();
    const { result } = await reaches(ann, started.taskId, 'completed');
    expect(result?.content[0]?.text).toContain('the answer');
    expect(result?.structuredContent).toMatchObject({
      done: true,
      runs: [{ handle: started.taskId, status: 'Completed', result: 'the answer' }],
    });
  });

  it('is the same one for the same request id, and its handle is one for all other tools', async () => {
    const requestId = randomUUID();
    const args = { task: stack.saying('once'), requestId };
    const first = await ann.start(args);
    await reaches(ann, first.taskId, 'completed');
    expect((await ann.start(args)).taskId).toBe(first.taskId);
    const { result } = await ann.send('tools/call', {
      name: 'await',
      arguments: { handles: [first.taskId] },
    });
    expect(result?.['structuredContent']).toMatchObject({ done: true });
  });

  it('is a completed one when the run failed: its call did not', async () => {
    const { taskId } = await ann.start({ task: 'x [[sim {"fault": "http_400"}]]', model: stack.model });
    const { result } = await reaches(ann, taskId, 'completed');
    expect(result?.structuredContent).toBeDefined();
  });

  it('is cancelled with its run, and says why', async () => {
    const held = stack.holding('never');
    const { taskId } = await ann.start({ task: held.task });
    await held.held;
    expect((await ann.send('tasks/cancel', { taskId })).result).toEqual(
      expect.objectContaining({ resultType: 'complete' }),
    );
    const { statusMessage } = await reaches(ann, taskId, 'cancelled');
    expect(statusMessage).toContain('cancelled');
    expect(statusMessage).toContain('so far');
    held.release();
  });

  it('is refused in the words of the tool when there is nothing to start', async () => {
    const { result } = await ann.run({ task: 'x', model: 'no-such-model' });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain('is not in the pool');
  });
});

describe('a task whose run waits for approval', () => {
  it.each([
    ['allowed', allow, 1],
    ['declined', decline, 0],
    ['closed', { action: 'cancel' }, 0],
  ])('asks by the id of the approval, and goes on when that is %s', async (_, answer, deletions) => {
    const page = randomUUID();
    const { taskId } = await ann.start({ task: deleting(page) });
    const { inputRequests = {} } = await reaches(ann, taskId, 'input_required');
    const [id = ''] = Object.keys(inputRequests);
    const request = inputRequests[id];
    expect(request).toMatchObject({ method: 'elicitation/create' });
    expect(request?.params.message).toContain(page);
    const unrelated = { apr_unknown: allow, [id]: answer };
    await ann.send('tasks/update', { taskId, inputResponses: unrelated });
    await reaches(ann, taskId, 'completed');
    expect(deletionsOf(stack, page)).toBe(deletions);
    // Its answer comes again, as after a broken connection: it is taken and changes nothing.
    const again = await ann.send('tasks/update', { taskId, inputResponses: { [id]: allow } });
    expect(again.error).toBeUndefined();
    expect(deletionsOf(stack, page)).toBe(deletions);
  });

  it('keeps waiting when what comes is no answer to a form', async () => {
    const page = randomUUID();
    const { taskId } = await ann.start({ task: deleting(page) });
    const { inputRequests = {} } = await reaches(ann, taskId, 'input_required');
    const [id = ''] = Object.keys(inputRequests);
    await ann.send('tasks/update', { taskId, inputResponses: { [id]: { action: 'perhaps' } } });
    expect(await ann.get(taskId)).toMatchObject({ status: 'input_required' });
    await ann.send('tasks/update', { taskId, inputResponses: { [id]: decline } });
    await reaches(ann, taskId, 'completed');
  });

  it('tells of all calls of one reply, and takes their answers together', async () => {
    const pages = Array.from({ length: 3 }, () => randomUUID());
    const { taskId } = await ann.start({ task: deleting(...pages), parallelToolCalls: true });
    const ids = await vi.waitFor(async () => {
      const found = Object.keys((await ann.get(taskId)).inputRequests ?? {});
      expect(found).toHaveLength(3);
      return found;
    }, bound);
    const inputResponses = Object.fromEntries(ids.map((id, index) => [id, index === 0 ? decline : allow]));
    await ann.send('tasks/update', { taskId, inputResponses });
    await reaches(ann, taskId, 'completed');
    const deletions = pages.map((page) => deletionsOf(stack, page));
    expect(deletions.reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  it('says so in words to a client that shows no forms', async () => {
    const plain = clientOf('ann', { forms: false });
    const { taskId } = await plain.start({ task: deleting(randomUUID()) });
    await vi.waitFor(async () => {
      const task = await plain.get(taskId);
      expect(task).toMatchObject({ status: 'working' });
      expect(task.statusMessage).toContain('waits for approval');
    }, bound);
    await plain.send('tasks/cancel', { taskId });
    await reaches(plain, taskId, 'cancelled');
  });

  it('goes on by the decision that came first', async () => {
    const page = randomUUID();
    const { taskId } = await ann.start({ task: deleting(page) });
    const { inputRequests = {} } = await reaches(ann, taskId, 'input_required');
    const [id = ''] = Object.keys(inputRequests);
    await Promise.all([
      ann.send('tasks/update', { taskId, inputResponses: { [id]: allow } }),
      ann.send('tools/call', { name: 'approve', arguments: { handle: taskId, allow: true, approvalId: id } }),
    ]);
    await reaches(ann, taskId, 'completed');
    expect(deletionsOf(stack, page)).toBe(1);
  });
});

describe('a task', () => {
  it('is unknown to everybody else, like one that never was', async () => {
    const { taskId } = await ann.start({ task: stack.saying('mine') });
    const ben = clientOf('ben');
    const never = `run_${'0'.repeat(22)}`;
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const more = method === 'tasks/update' ? { inputResponses: {} } : {};
      const other = await ben.send(method, { taskId, ...more });
      const missing = await ben.send(method, { taskId: never, ...more });
      expect(other.error?.code).toBe(-32_602);
      expect(other.error?.message.replace(taskId, '')).toBe(missing.error?.message.replace(never, ''));
      const shapeless = await ben.send(method, { taskId: 'no handle', ...more });
      expect(shapeless.error?.code).toBe(-32_602);
    }
    await reaches(ann, taskId, 'completed');
  });

  it('is for requests that declare the extension, and for no others', async () => {
    const plain = clientOf('ann', { extensions: undefined });
    const { result } = await plain.run({ task: stack.saying('plain') });
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { done: true } });
    const { taskId } = await ann.start({ task: stack.saying('x') });
    const { error } = await plain.send('tasks/get', { taskId });
    expect(error).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    });
  });

  it('is not updated without answers', async () => {
    const { taskId } = await ann.start({ task: stack.saying('x') });
    expect((await ann.send('tasks/update', { taskId })).error?.code).toBe(-32_602);
    await reaches(ann, taskId, 'completed');
  });

  it('is announced', async () => {
    const { result } = await ann.send('server/discover', {});
    expect(result).toMatchObject({
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    });
  });

  it('outlives the server that started it, and is answered by any other', async () => {
    const first = await stack.startServer();
    const before = clientOf('ann', {}, `${first.url}/mcp`);
    const page = randomUUID();
    const { taskId } = await before.start({ task: deleting(page) });
    await reaches(before, taskId, 'input_required');
    await first.close();
    const second = await stack.startServer();
    const after = clientOf('ann', {}, `${second.url}/mcp`);
    const { inputRequests = {} } = await after.get(taskId);
    const [id = ''] = Object.keys(inputRequests);
    await ann.send('tasks/update', { taskId, inputResponses: { [id]: allow } });
    await reaches(after, taskId, 'completed');
    expect(deletionsOf(stack, page)).toBe(1);
  });
});

describe('a server that is killed', () => {
  it('loses no task: the next one answers for it', async () => {
    const start = async () =>
      await startService('mcp-server/main.ts', {
        FERMATA_MCP_PORT: '0',
        FERMATA_TOKEN: serviceToken,
        FERMATA_TASK_QUEUE: stack.config.taskQueue,
        FERMATA_PROXY_URL: stack.proxyUrl,
        TEMPORAL_ADDRESS: stack.config.temporal.address,
      });
    const headers = bearer(serviceToken);
    const first = await start();
    const page = randomUUID();
    const before = taskClient(`${first.url}/mcp`, { headers });
    const { taskId } = await before.start({ task: deleting(page) });
    await reaches(before, taskId, 'input_required');
    await first.kill();
    const second = await start();
    try {
      const after = taskClient(`${second.url}/mcp`, { headers });
      const { inputRequests = {} } = await after.get(taskId);
      const [id = ''] = Object.keys(inputRequests);
      await after.send('tasks/update', { taskId, inputResponses: { [id]: allow } });
      await reaches(after, taskId, 'completed');
      expect(deletionsOf(stack, page)).toBe(1);
    } finally {
      await second.kill();
    }
  });
});

describe('the public requester of tasks', () => {
  it('takes a run from its start over an approval to its result', async () => {
    const page = randomUUID();
    const messages: string[] = [];
    const { session, close } = await connectTaskSession({
      url: stack.mcpUrl,
      headers: bearer(tokenOf('ann')),
      answer: (message) => {
        messages.push(message);
        return 'allow';
      },
    });
    try {
      const execution = await session.callTool('run', { task: deleting(page) });
      expect(execution.kind).toBe('task');
      const { outcome } = await execution.settle();
      expect(JSON.stringify(resultFromTaskOutcome(outcome))).toContain('done');
      expect(messages).toHaveLength(1);
      expect(messages[0]).toContain(page);
      expect(deletionsOf(stack, page)).toBe(1);
    } finally {
      await close();
    }
  });

  it('cancels one', async () => {
    const held = stack.holding('never');
    const { session, close } = await connectTaskSession({
      url: stack.mcpUrl,
      headers: bearer(tokenOf('ann')),
      answer: () => 'decline',
    });
    try {
      const execution = await session.callTool('run', { task: held.task });
      await held.held;
      await execution.cancel();
      const { statusMessage } = await reaches(ann, execution.handle?.taskId ?? '', 'cancelled');
      expect(statusMessage).toContain('cancelled');
    } finally {
      held.release();
      await close();
    }
  });
});
