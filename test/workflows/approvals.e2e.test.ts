import { randomUUID } from 'node:crypto';
import { WorkflowUpdateFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import {
  approvalFailureTypes,
  approvalsQuery,
  approveSignal,
  decideApprovalUpdate,
  searchAttributes,
  transcriptQuery,
  type PendingApproval,
  type RunMemo,
} from '../../contracts/run.ts';
import { callsPerReplyLimit } from '../../workflows/next-step.ts';
import type { FakeCall } from '../activities/fake-model.ts';
import { startRunStack, type RunStack } from './run-stack.ts';

let stack: RunStack;

beforeAll(async () => {
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: (request) => {
      // The task says which calls each reply makes; the turn is told by how many replies there were.
      const { messages } = request.body;
      const task = messages.find((message) => message['role'] === 'user');
      const { replies } = JSON.parse(String(task?.['content'])) as { replies: FakeCall[][] };
      const reply = replies[messages.filter((message) => message['role'] === 'assistant').length];
      if (reply === undefined) request.say('done');
      else request.call(reply);
    },
  });
});
afterAll(async () => await stack?.close());

const deletion = (page: string): FakeCall => ({ name: 'kit__delete_page', arguments: { page } });
const lookup = (topic: string): FakeCall => ({ name: 'kit__lookup', arguments: { topic } });

async function start(replies: FakeCall[][], input: Record<string, unknown> = {}): Promise<WorkflowHandle> {
  return await stack.start({ task: JSON.stringify({ replies }), ...input });
}

async function waitForOpen(run: WorkflowHandle, count: number): Promise<RunMemo> {
  return await vi.waitFor(
    async () => {
      const memo = await stack.memo(run);
      expect(memo.pendingApprovals).toHaveLength(count);
      return memo;
    },
    { timeout: 30_000, interval: 50 },
  );
}

async function onlyOpen(run: WorkflowHandle): Promise<PendingApproval> {
  const [open] = (await waitForOpen(run, 1)).pendingApprovals;
  if (open === undefined) throw new Error('none is open');
  return open;
}

const decide = async (run: WorkflowHandle, decision: unknown): Promise<unknown> =>
  await run.executeUpdate(decideApprovalUpdate, { args: [decision] });

async function refusalOf(work: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await work.catch((caught: unknown) => caught);
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
    return error.cause;
  throw new Error('it was not refused', { cause: error });
}

/** Pages whose deletion was begun, in order; each test has pages of its own. */
function deleted(prefix: string): string[] {
  return stack.tools
    .calls()
    .lines.filter(({ tool, phase }) => tool === 'delete_page' && phase === 'started')
    .map((line) => (line.arguments as { page: string }).page)
    .filter((page) => page.startsWith(prefix));
}

async function results(run: WorkflowHandle): Promise<string[]> {
  const transcript = await run.query<{ role: string; content: string }[]>(transcriptQuery);
  return transcript.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

describe('a call of a destructive tool', () => {
  it('waits, is shown everywhere with its arguments, and runs once when it is allowed', async () => {
    const page = randomUUID();
    const run = await start([[deletion(page)]]);
    const open = await onlyOpen(run);
    expect(open).toEqual({
      id: expect.stringMatching(/^apr_[0-9a-f]{16}$/),
      tool: 'kit__delete_page',
      arguments: JSON.stringify({ page }),
    });
    expect(await stack.memo(run)).toMatchObject({
      status: 'AwaitingApproval',
      phase: 'waiting for approval: kit__delete_page',
    });
    const { typedSearchAttributes } = await run.describe();
    expect(
      typedSearchAttributes.getAll().find(({ key }) => key.name === searchAttributes.status)?.value,
    ).toBe('AwaitingApproval');
    expect(deleted(page)).toEqual([]);
    const decided = { id: open.id, tool: open.tool, allow: true, by: 'ann' };
    expect(await decide(run, { id: open.id, allow: true, by: 'ann' })).toEqual(decided);
    expect(await run.result()).toMatchObject({
      text: 'done',
      counters: { toolCalls: 1, failedToolCalls: 0 },
    });
    expect(deleted(page)).toEqual([page]);
    expect(await run.query(approvalsQuery)).toEqual({ open: [], decided: [decided] });
    expect(await stack.memo(run)).toMatchObject({
      status: 'Completed',
      pendingApprovals: [],
      decidedApprovals: [decided],
    });
  });

  it('is not run when it is declined, and the model hears of it', async () => {
    const page = randomUUID();
    const run = await start([[deletion(page)]]);
    const { id } = await onlyOpen(run);
    await decide(run, { id, allow: false, by: 'ann' });
    expect(await run.result()).toMatchObject({ counters: { turns: 2, toolCalls: 1, failedToolCalls: 1 } });
    expect(await results(run)).toEqual(['Error: the user declined this tool call']);
    expect(deleted(page)).toEqual([]);
  });

  it('is decided once by twenty clients that answer together; the others hear what was decided', async () => {
    const page = randomUUID();
    // Another call waits after it, so that the run is still there for the slowest answer.
    const run = await start([[deletion(page)], [deletion('never')]]);
    const { id, tool } = await onlyOpen(run);
    const answers = await Promise.allSettled(
      Array.from(
        { length: 20 },
        async (_, index) => await decide(run, { id, allow: index % 2 === 0, by: `client ${index}` }),
      ),
    );
    const accepted = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    expect(accepted).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 'fulfilled') continue;
      const failure = await refusalOf(Promise.reject(answer.reason as Error));
      expect(failure.type).toBe(approvalFailureTypes.decided);
      expect(failure.details).toEqual(accepted);
    }
    const open = await onlyOpen(run);
    const { allow, by } = accepted[0] as { allow: boolean; by: string };
    expect(deleted(page)).toEqual(allow ? [page] : []);
    expect(await run.query(approvalsQuery)).toEqual({ open: [open], decided: [{ id, tool, allow, by }] });
    await run.cancel();
    await expect(run.result()).rejects.toThrow('cancelled');
  });

  it('with other arguments is another call: it waits anew, and the decision of the first is refused for it', async () => {
    const page = randomUUID();
    const run = await start([[deletion(`${page}-a`)], [deletion(`${page}-b`)], [deletion(`${page}-b`)]]);
    const ids: string[] = [];
    for (const [index, allow] of [true, false, true].entries()) {
      const open = await vi.waitFor(
        async () => {
          const one = await onlyOpen(run);
          expect(ids).not.toContain(one.id);
          return one;
        },
        { timeout: 30_000, interval: 50 },
      );
      expect(JSON.parse(open.arguments)).toEqual({ page: index === 0 ? `${page}-a` : `${page}-b` });
      for (const id of ids) {
        expect((await refusalOf(decide(run, { id, allow: true, by: 'late' }))).type).toBe(
          approvalFailureTypes.decided,
        );
      }
      ids.push(open.id);
      await decide(run, { id: open.id, allow, by: 'ann' });
    }
    await run.result();
    expect(deleted(page)).toEqual([`${page}-a`, `${page}-b`]);
  });

  it('refuses decisions that name nothing or say nothing, and goes on waiting', async () => {
    const run = await start([[deletion(randomUUID())]]);
    const { id } = await onlyOpen(run);
    for (const [decision, type] of [
      [{ id: 'apr_0000000000000000', allow: true, by: 'ann' }, approvalFailureTypes.unknown],
      [{ id, allow: 'yes', by: 'ann' }, approvalFailureTypes.invalid],
      [{ id, allow: true }, approvalFailureTypes.invalid],
      [{ id, allow: true, by: 'ann', forAll: true }, approvalFailureTypes.invalid],
      [null, approvalFailureTypes.invalid],
    ] as const) {
      expect((await refusalOf(decide(run, decision))).type).toBe(type);
    }
    expect(await stack.memo(run)).toMatchObject({ status: 'AwaitingApproval' });
    await run.cancel();
    await expect(run.result()).rejects.toThrow('cancelled');
  });
});

describe('what a run is annotated and asked to wait for', () => {
  it('is any tool that approveTools names, one that only reads too', async () => {
    const run = await start([[lookup('Nile')]], { approveTools: ['kit__lookup'] });
    expect(await onlyOpen(run)).toMatchObject({ tool: 'kit__lookup', arguments: '{"topic":"Nile"}' });
    await decide(run, { id: (await onlyOpen(run)).id, allow: true, by: 'ann' });
    expect(await run.result()).toMatchObject({ counters: { toolCalls: 1, failedToolCalls: 0 } });
  });

  it('fails a run at its start when approveTools names no tool', async () => {
    const run = await start([[lookup('Nile')]], { approveTools: ['kit__look'] });
    await expect(run.result()).rejects.toThrow('failed');
    expect(await stack.memo(run)).toMatchObject({
      status: 'Failed',
      reason: expect.stringContaining('these tools are not to be had: kit__look'),
    });
  });

  it('offers no tool only because approveTools names it', async () => {
    const run = await start([], { tools: ['kit__lookup'], approveTools: ['kit__delete_page'] });
    await run.result();
    const tools = await run.query<{ name: string }[]>('tools');
    expect(tools.map(({ name }) => name)).toEqual(['kit__lookup']);
  });
});

describe('a batch of calls', () => {
  it('side by side: what needs nobody runs at once, the rest is open together and each runs when it is allowed', async () => {
    const page = randomUUID();
    const before = stack.tools.calls().tools['lookup']?.finished ?? 0;
    const calls = [deletion(`${page}-a`), lookup('Nile'), deletion(`${page}-b`), deletion(`${page}-c`)];
    const run = await start([calls], { parallelToolCalls: true });
    const { pendingApprovals } = await waitForOpen(run, 3);
    expect(pendingApprovals.map((open) => JSON.parse(open.arguments) as unknown)).toEqual(
      ['a', 'b', 'c'].map((letter) => ({ page: `${page}-${letter}` })),
    );
    await stack.tools.waitFor((counts) => counts.tools['lookup']?.finished === before + 1, 30_000);
    const [a, b, c] = pendingApprovals.map((open) => open.id);
    await decide(run, { id: c, allow: true, by: 'ann' });
    await stack.tools.waitFor(() => deleted(page).length === 1, 30_000);
    expect(deleted(page)).toEqual([`${page}-c`]);
    expect((await waitForOpen(run, 2)).status).toBe('AwaitingApproval');
    await decide(run, { id: a, allow: false, by: 'ann' });
    await decide(run, { id: b, allow: true, by: 'bob' });
    expect(await run.result()).toMatchObject({ counters: { toolCalls: 4, failedToolCalls: 1 } });
    expect(await results(run)).toEqual([
      'Error: the user declined this tool call',
      expect.stringMatching(/^Nile: /),
      `Page "${page}-b" is deleted.`,
      `Page "${page}-c" is deleted.`,
    ]);
  });

  it('in order: a call after one that waits is neither run nor asked about before', async () => {
    const page = randomUUID();
    const before = stack.tools.calls().tools['lookup']?.started ?? 0;
    const run = await start([[deletion(`${page}-a`), lookup('Nile'), deletion(`${page}-b`)]]);
    const first = await onlyOpen(run);
    expect(JSON.parse(first.arguments)).toEqual({ page: `${page}-a` });
    expect(stack.tools.calls().tools['lookup']?.started ?? 0).toBe(before);
    await decide(run, { id: first.id, allow: true, by: 'ann' });
    const second = await vi.waitFor(
      async () => {
        const open = await onlyOpen(run);
        expect(open.id).not.toBe(first.id);
        return open;
      },
      { timeout: 30_000, interval: 50 },
    );
    expect(JSON.parse(second.arguments)).toEqual({ page: `${page}-b` });
    expect(deleted(page)).toEqual([`${page}-a`]);
    expect(stack.tools.calls().tools['lookup']?.finished).toBe(before + 1);
    await decide(run, { id: second.id, allow: false, by: 'ann' });
    expect(await run.result()).toMatchObject({ counters: { toolCalls: 3, failedToolCalls: 1 } });
  });

  it('of as many calls as a reply may make is open and listed as a whole', async () => {
    const page = randomUUID();
    const calls = Array.from({ length: callsPerReplyLimit + 2 }, (_, index) => deletion(`${page}-${index}`));
    const run = await start([calls], { parallelToolCalls: true, maxToolCalls: calls.length });
    const { pendingApprovals } = await waitForOpen(run, callsPerReplyLimit);
    expect(pendingApprovals.map((open) => JSON.parse(open.arguments) as unknown)).toEqual(
      calls.slice(0, callsPerReplyLimit).map((call) => call.arguments),
    );
    for (const [index, { id }] of pendingApprovals.entries()) {
      await decide(run, { id, allow: index === 7, by: 'ann' });
    }
    const failedToolCalls = calls.length - 1;
    expect(await run.result()).toMatchObject({ counters: { toolCalls: calls.length, failedToolCalls } });
    expect(deleted(page)).toEqual([`${page}-7`]);
  });
});

describe('the signal of Temporal\u2019s own client', () => {
  it.each([
    ['with nothing', [], true, 'a signal'],
    ['with an empty object', [{}], true, 'a signal'],
    ['that declines', [{ allow: false, by: 'ops' }], false, 'ops'],
  ] as const)('%s decides the only open call', async (_, args, allow, by) => {
    const page = randomUUID();
    const run = await start([[deletion(page)]]);
    const { id, tool } = await onlyOpen(run);
    await run.signal(approveSignal, ...args);
    await run.result();
    expect(deleted(page)).toEqual(allow ? [page] : []);
    expect(await run.query(approvalsQuery)).toEqual({ open: [], decided: [{ id, tool, allow, by }] });
  });

  it('that cannot be used changes nothing and is told of in the details of the run', async () => {
    const page = randomUUID();
    const run = await start([[deletion(`${page}-a`), deletion(`${page}-b`)]], { parallelToolCalls: true });
    const { pendingApprovals } = await waitForOpen(run, 2);
    const details = async (): Promise<string> => {
      const metadata = await run.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
      return metadata.currentDetails ?? '';
    };
    for (const [payload, words] of [
      [{}, 'it names no id, and several calls wait'],
      [{ allow: false }, 'it names no id, and several calls wait'],
      [{ id: 'apr_0', allow: true }, "no approval 'apr_0' is open"],
      [{ id: pendingApprovals[0]?.id, alow: false }, "unknown field 'alow'"],
      ['yes', 'no object'],
      [[true], 'no object'],
      [{ id: pendingApprovals[0]?.id, allow: 'no' }, 'allow must be true or false'],
    ] as const) {
      await run.signal(approveSignal, payload);
      expect(await details()).toContain(`Note: a signal was ignored: `);
      expect(await details()).toContain(words);
      expect((await stack.memo(run)).pendingApprovals).toEqual(pendingApprovals);
    }
    expect(deleted(page)).toEqual([]);
    for (const { id } of pendingApprovals) await run.signal(approveSignal, { id, allow: true, by: 'ops' });
    await run.result();
    expect(deleted(page)).toEqual([`${page}-a`, `${page}-b`]);
  });

  it('that comes before anything waits approves nothing', async () => {
    const run = await start([[deletion(randomUUID())]]);
    await run.signal(approveSignal, {});
    const open = await onlyOpen(run);
    expect(await run.query(approvalsQuery)).toEqual({ open: [open], decided: [] });
    await run.cancel();
    await expect(run.result()).rejects.toThrow('cancelled');
  });
});

describe('a run that waits for approval', () => {
  it('ends when it is cancelled, runs nothing, and takes no decision any more', async () => {
    const page = randomUUID();
    const run = await start([[deletion(page), deletion(page)]], { parallelToolCalls: true });
    const { pendingApprovals } = await waitForOpen(run, 2);
    await run.cancel();
    await expect(run.result()).rejects.toThrow('cancelled');
    expect(await stack.memo(run)).toMatchObject({ status: 'Cancelled', pendingApprovals: [] });
    expect(await run.query(approvalsQuery)).toEqual({ open: [], decided: [] });
    await expect(decide(run, { id: pendingApprovals[0]?.id, allow: true, by: 'ann' })).rejects.toThrow(
      'completed',
    );
    expect(deleted(page)).toEqual([]);
  });

  it('ends when the seconds of its budget are used up, and runs nothing', async () => {
    const page = randomUUID();
    const run = await start([[deletion(page)]], { budget: { seconds: 2 } });
    await onlyOpen(run);
    await expect(run.result()).rejects.toThrow('cancelled');
    expect(await stack.memo(run)).toMatchObject({
      status: 'Cancelled',
      reason: expect.stringContaining('budget exceeded: seconds'),
      pendingApprovals: [],
    });
    expect(deleted(page)).toEqual([]);
  });

  it('costs nothing: it holds no timer and no activity, and another run goes by without an event of its own', async () => {
    const run = await start([[deletion(randomUUID())]]);
    await onlyOpen(run);
    const { raw } = await run.describe();
    expect(raw.pendingActivities ?? []).toEqual([]);
    expect(raw.pendingWorkflowTask ?? null).toBeNull();
    const eventsNow = async () => (await run.fetchHistory()).events ?? [];
    const before = await eventsNow();
    const other = await start([[lookup('Nile')], [lookup('Elbe')]]);
    await other.result();
    const events = await eventsNow();
    expect(events).toHaveLength(before.length);
    expect(events.filter((event) => (event.timerStartedEventAttributes ?? null) !== null)).toEqual([]);
    await run.cancel();
    await expect(run.result()).rejects.toThrow('cancelled');
  });
});
