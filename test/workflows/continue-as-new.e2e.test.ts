/**
 * Runs that go on in several workflow executions. Their Temporal server asks for a new execution every
 * forty events, as a real one does every four thousand.
 */
import type { WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import {
  decideApprovalUpdate,
  runMemoKey,
  runMemoSchema,
  searchAttributes,
  transcriptQuery,
  workflowTypes,
  type DecidedApproval,
  type RunResult,
} from '../../contracts/run.ts';
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import type { FakeRequest } from '../activities/fake-model.ts';
import type { OwnTemporal } from '../own-temporal.ts';
import { startShortHistoryServer } from '../short-history-server.ts';
import { newHandle, startRunStack, type RunStack } from './run-stack.ts';

let server: OwnTemporal;
let stack: RunStack;

beforeAll(async () => {
  server = await startShortHistoryServer();
  stack = await startRunStack({
    temporalAddress: server.address,
    workflowBundlePath: inject('workflowBundlePath'),
    script: noteUntilTold,
  });
});
afterAll(async () => {
  await stack?.close();
  await server?.close();
});

/** Adds a note in each turn, for as long as it has tools. */
function noteUntilTold(request: FakeRequest): void {
  const { messages, tools } = request.body;
  if (tools === undefined) request.say('done');
  else request.call([{ name: 'kit__add_note', arguments: { text: `note ${messages.length}` } }]);
}

const requestsOf = (run: string): readonly FakeRequest[] =>
  stack.model.requests.filter(({ headers }) => headers['x-fermata-run-id'] === run);

/** The last execution of a run, whichever it is. */
const current = (run: string): WorkflowHandle => stack.client.workflow.getHandle(run);

/** Run ids of a run's executions, the first one first. */
async function executionsOf(first: string, run: string): Promise<string[]> {
  const ids = [first];
  for (;;) {
    const { events } = await stack.client.workflow.getHandle(run, ids.at(-1)).fetchHistory();
    const next = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    if (next === undefined || next === null || next === '') return ids;
    ids.push(next);
  }
}

async function startNotes(maxToolCalls: number, more: Record<string, unknown> = {}) {
  const workflowId = newHandle();
  const handle = await stack.client.workflow.start(workflowTypes.agentRun, {
    taskQueue: stack.taskQueue,
    workflowId,
    args: [{ caller: 'tests', task: 'Take notes.\nMany.', system: 'Be brief.', maxToolCalls, ...more }],
    memo: { request: 'hash of the request' },
  });
  return { run: workflowId, firstExecution: handle.firstExecutionRunId, handle };
}

describe('a run that goes on in new workflow executions', () => {
  it('counts, remembers and repeats as if it were one', async () => {
    const { run, firstExecution, handle } = await startNotes(16);
    const { startTime } = await handle.describe();
    const result = (await handle.result()) as RunResult;
    expect(result).toMatchObject({
      text: 'done',
      counters: { turns: 17, toolCalls: 16, failedToolCalls: 0 },
    });
    const executions = await executionsOf(firstExecution, run);
    expect(executions.length).toBeGreaterThan(3);

    const requests = requestsOf(run);
    expect(requests.map(({ headers }) => headers['x-fermata-turn'])).toEqual(
      Array.from({ length: 17 }, (_, index) => String(index + 1)),
    );
    // The prompt of each turn begins with the one before it: no prefix cache is lost by the switch.
    for (const [index, { body }] of requests.entries()) {
      const before = requests[index - 1]?.body.messages ?? [];
      expect(body.messages.slice(0, before.length)).toEqual(before);
    }
    const lists = requests.slice(0, 16).map(({ body }) => JSON.stringify(body.tools));
    expect(new Set(lists).size).toBe(1);
    const keys = Object.entries(stack.tools.calls().keys).filter(([key]) => key.startsWith(`${run}:`));
    expect(keys).toHaveLength(16);
    expect(keys.every(([, { started, finished }]) => started === 1 && finished === 1)).toBe(true);

    const transcript = await current(run).query<ChatMessage[]>(transcriptQuery);
    expect(transcript).toHaveLength(2 + 16 * 2 + 1);
    const description = await current(run).describe();
    expect(description.memo?.['request']).toBe('hash of the request');
    const memo = runMemoSchema.parse(description.memo?.[runMemoKey]);
    expect(memo).toMatchObject({ status: 'Completed', phase: 'ended', counters: result.counters });
    expect(description.startTime.getTime()).toBeGreaterThan(startTime.getTime());
    expect(memo.startedAt).toBe(startTime.toISOString());
    const attributes = description.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
    expect(attributes).toContainEqual([searchAttributes.status, 'Completed']);
    const metadata = await current(run).query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toContain('- Take notes.');
  });

  it('replays every execution to the same commands', async () => {
    const { run, firstExecution, handle } = await startNotes(8);
    await handle.result();
    const executions = await executionsOf(firstExecution, run);
    expect(executions.length).toBeGreaterThan(1);
    for (const id of executions) {
      const history = await stack.client.workflow.getHandle(run, id).fetchHistory();
      const workflowBundle = { codePath: inject('workflowBundlePath') };
      await expect(Worker.runReplayHistory({ workflowBundle }, history, run)).resolves.toBeUndefined();
    }
  });

  it('is taken over by a worker that has seen none of it', async () => {
    const { run, handle } = await startNotes(12);
    await vi.waitFor(() => expect(requestsOf(run).length).toBeGreaterThan(5), { timeout: 30_000 });
    const second = await stack.newWorker();
    await stack.worker?.close();
    expect(await handle.result()).toMatchObject({ counters: { turns: 13, toolCalls: 12 } });
    const results = requestsOf(run)
      .at(-1)
      ?.body.messages.filter(({ role }) => role === 'tool');
    expect(results).toHaveLength(12);
    expect(second.port).toBeGreaterThan(0);
  });

  it('ends when it is cancelled, at whatever moment, with the reason and without another turn', async () => {
    const runs = await Promise.all(Array.from({ length: 8 }, () => startNotes(2_000)));
    const ends = runs.map(async ({ run, handle }, index) => {
      const turns = 4 + index;
      await vi.waitFor(() => expect(requestsOf(run).length).toBeGreaterThan(turns), {
        timeout: 60_000,
        interval: 5 + index,
      });
      await stack.client.workflowService.requestCancelWorkflowExecution({
        namespace: 'default',
        requestId: run,
        workflowExecution: { workflowId: run },
        reason: `enough of ${index}`,
      });
      await expect(handle.result()).rejects.toThrow(/cancel/i);
      const asked = requestsOf(run).length;
      const { memo, status } = await current(run).describe();
      return { index, asked, status: status.name, memo: runMemoSchema.parse(memo?.[runMemoKey]), run };
    });
    for (const { index, asked, status, memo, run } of await Promise.all(ends)) {
      expect([status, memo.status, memo.reason]).toEqual(['CANCELLED', 'Cancelled', `enough of ${index}`]);
      expect(memo.counters.turns).toBeGreaterThan(3 + index);
      expect(requestsOf(run)).toHaveLength(asked);
    }
  });

  it('knows after the switch what was decided before it', async () => {
    stack.model.script((request) => {
      const results = request.body.messages.filter(({ role }) => role === 'tool').length;
      if (results === 0) request.call([{ name: 'kit__delete_page', arguments: { page: 'old' } }]);
      else noteUntilTold(request);
    });
    const { run, firstExecution, handle } = await startNotes(2_000);
    const [open] = await vi.waitFor(
      async () => {
        const { memo } = await current(run).describe();
        const { pendingApprovals } = runMemoSchema.parse(memo?.[runMemoKey]);
        expect(pendingApprovals).toHaveLength(1);
        return pendingApprovals;
      },
      { timeout: 30_000, interval: 50 },
    );
    const decide = async (by: string, allow: boolean): Promise<DecidedApproval> =>
      await current(run).executeUpdate<DecidedApproval, [unknown]>(decideApprovalUpdate, {
        args: [{ id: open?.id, allow, by }],
      });
    expect(await decide('ann', true)).toMatchObject({ allow: true, by: 'ann' });
    await vi.waitFor(async () => expect((await current(run).describe()).runId).not.toBe(firstExecution), {
      timeout: 30_000,
      interval: 50,
    });
    await expect(decide('bob', false)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('already decided') as unknown },
    });
    expect(stack.tools.calls().tools['delete_page']).toMatchObject({ started: 1, finished: 1 });
    await current(run).cancel();
    await expect(handle.result()).rejects.toThrow(/cancel/i);
  });
});
