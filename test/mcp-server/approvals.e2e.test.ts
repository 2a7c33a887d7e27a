/** Calls that wait for the user, as MCP clients see and decide them. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { connectClient, type ClientKind, type TestClient, type ToolReply } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
});
afterAll(async () => {
  await stack.close();
});

/** A task that deletes these pages, in one reply when there are several, and then says `done`. */
function deleting(...pages: readonly string[]): string {
  const calls = pages.map((page) => ({ tool: 'delete_page', arguments: { page } }));
  return `delete [[sim ${JSON.stringify({ calls, parallel: true, answer: 'done' })}]]`;
}

/** How often the deletion of `page` was begun. */
function deletions(page: string): number {
  return stack.tools
    .calls()
    .lines.filter(
      ({ tool, phase, arguments: given }) =>
        tool === 'delete_page' && phase === 'started' && (given as { page: string }).page === page,
    ).length;
}

interface Pending {
  readonly id: string;
  readonly tool: string;
  readonly arguments: string;
}

const bound = { timeout: 30_000, interval: 50 };

describe.each<ClientKind>(['modern', 'legacy', 'sdk'])('a %s client', (kind) => {
  let client: TestClient;
  beforeAll(async () => {
    client = await connectClient(kind, stack.mcpUrl);
  });
  afterAll(async () => {
    await client.close();
  });

  async function spawn(task: string, over: Record<string, unknown> = {}): Promise<string> {
    const { structured, isError, text } = await client.call('spawn', { task, ...over });
    expect([isError, text]).toEqual([false, text]);
    return String(structured['handle']);
  }

  async function waitForOpen(handle: string, count = 1): Promise<Pending[]> {
    return await vi.waitFor(async () => {
      const { structured } = await client.call('status', { handle });
      const open = (structured['pendingApprovals'] ?? []) as Pending[];
      expect(open).toHaveLength(count);
      return open;
    }, bound);
  }

  it('is told by await, at once and not at its time-out, what waits, with its arguments and what to do', async () => {
    const page = randomUUID();
    const handle = await spawn(deleting(page));
    const startedMs = performance.now();
    const told = await client.call('await', { handles: [handle], timeoutSeconds: 55 });
    expect(performance.now() - startedMs).toBeLessThan(40_000);
    expect(told.isError).toBe(false);
    const pending = {
      id: expect.stringMatching(/^apr_[0-9a-f]{16}$/),
      tool: 'desk__delete_page',
      arguments: JSON.stringify({ page }),
    };
    expect(told.structured).toMatchObject({
      done: false,
      hint: expect.stringContaining('call approve with handle, approvalId and allow'),
      runs: [{ handle, status: 'AwaitingApproval', pendingApproval: pending, pendingApprovals: [pending] }],
    });
    const [{ id } = { id: '' }] = await waitForOpen(handle);
    expect(told.text).toContain(`waits for approval ${id}: desk__delete_page ${JSON.stringify({ page })}`);
    expect(told.text).toContain(`1 tool call of ${handle} waits for approval`);
    const status = await client.call('status', { handle });
    expect(status.structured).toMatchObject({
      status: 'AwaitingApproval',
      phase: 'waiting for approval: desk__delete_page',
      pendingApproval: pending,
    });
    expect(status.text).toContain(`waits for approval ${id}`);
    expect(status.text).toContain('call approve');
    expect(deletions(page)).toBe(0);

    const accepted = await client.call('approve', { handle, allow: true });
    expect(accepted.isError).toBe(false);
    expect(accepted.structured).toMatchObject({ handle, approvalId: id, outcome: 'accepted', allow: true });
    expect(accepted.text).toContain(`allowed: desk__delete_page is called now, once`);
    const ended = await client.call('await', { handles: [handle] });
    expect(ended.structured).toMatchObject({
      done: true,
      runs: [{ status: 'Completed', result: 'done', toolCalls: 1, failedToolCalls: 0 }],
    });
    expect(JSON.stringify(ended.structured)).not.toContain('pendingApproval');
    expect(deletions(page)).toBe(1);
  });

  it('declines, and the call is not made', async () => {
    const page = randomUUID();
    const handle = await spawn(deleting(page));
    const [{ id } = { id: '' }] = await waitForOpen(handle);
    const declined = await client.call('approve', { handle, allow: 'false', approvalId: ` ${id} ` });
    expect(declined.structured).toMatchObject({ outcome: 'accepted', allow: false });
    expect(declined.text).toContain('is not called');
    const { structured } = await client.call('await', { handles: [handle] });
    expect(structured).toMatchObject({ runs: [{ status: 'Completed', toolCalls: 1, failedToolCalls: 1 }] });
    expect(deletions(page)).toBe(0);
  });

  it('names one of several, and gets their list when it names none', async () => {
    const pages = [randomUUID(), randomUUID()] as const;
    const handle = await spawn(deleting(...pages), { parallelToolCalls: true });
    const open = await waitForOpen(handle, 2);
    const which = await client.call('approve', { handle, allow: true });
    expect(which.isError).toBe(true);
    expect(which.text).toContain('2 calls of');
    for (const { id, arguments: given } of open) {
      expect(which.text).toContain(`waits for approval ${id}: desk__delete_page ${given}`);
    }
    await client.call('approve', { handle, allow: true, approvalId: open[1]?.id });
    await waitForOpen(handle, 1);
    const rest = await client.call('approve', { handle, allow: false });
    expect(rest.structured).toMatchObject({ approvalId: open[0]?.id, outcome: 'accepted' });
    await client.call('await', { handles: [handle] });
    expect(pages.map(deletions)).toEqual([0, 1]);
  });

  it('hears, in words and not as an error, what was decided before, also when the run has ended', async () => {
    const pages = [randomUUID(), randomUUID()] as const;
    const handle = await spawn(deleting(...pages), { parallelToolCalls: true });
    const [first, second] = await waitForOpen(handle, 2);
    await client.call('approve', { handle, allow: false, approvalId: first?.id });
    const late = async (): Promise<ToolReply> =>
      await client.call('approve', { handle, allow: true, approvalId: first?.id });
    const expectTold = (reply: ToolReply): void => {
      expect(reply.isError).toBe(false);
      expect(reply.structured).toMatchObject({ outcome: 'already decided', allow: false });
      expect(reply.text).toContain(
        `approval ${first?.id} was already decided: the call of desk__delete_page was declined by `,
      );
      expect(reply.text).toContain('Your answer changed nothing.');
    };
    expectTold(await late());
    await client.call('approve', { handle, allow: true, approvalId: second?.id });
    await client.call('await', { handles: [handle] });
    expectTold(await late());
    // Who names none means the call that waited last.
    const { structured, isError } = await client.call('approve', { handle, allow: false });
    expect(isError).toBe(false);
    expect(structured).toMatchObject({ outcome: 'already decided', approvalId: second?.id, allow: true });
    expect(pages.map(deletions)).toEqual([0, 1]);
  });

  it('gets what it did wrong as tool errors that say what to do', async () => {
    const idle = stack.holding('nothing to approve');
    const handle = await spawn(idle.task);
    await idle.held;
    const none = await client.call('approve', { handle, allow: true });
    expect([none.isError, none.text]).toEqual([
      true,
      `nothing waits for approval in ${handle}: it is Running (model turn 2)`,
    ]);
    const unknown = await client.call('approve', { handle, allow: true, approvalId: 'apr_nope' });
    expect(unknown.isError).toBe(true);
    expect(unknown.text).toContain("no approval 'apr_nope' is open in this run");
    idle.release();
    await client.call('await', { handles: [handle] });
    const over = await client.call('approve', { handle, allow: true, approvalId: 'apr_nope' });
    expect(over.isError).toBe(true);
    expect(over.text).toContain(`it has ended (Completed), and no approval 'apr_nope' was decided in it`);
    const handleless = await client.call('approve', { handle: 'run_0000000000000000000000', allow: true });
    expect(handleless.text).toContain('unknown handle');
    const tools = await client.call('spawn', { task: 'x', approveTools: ['desk__lookup', 'y'] });
    expect([tools.isError, tools.text]).toEqual([
      true,
      "approveTools: 'y' is not offered by any server; see the tools tool",
    ]);
    const maybe = await client.call('approve', { handle, allow: 'maybe' });
    expect(maybe.isError).toBe(true);
    expect(maybe.text).toContain('allow');
  });

  it('sees in status the whole of long arguments, which await and the list cut', async () => {
    const page = `${randomUUID()}${'x'.repeat(20_000)}END`;
    const handle = await spawn(deleting(page), { maxTokens: 0 });
    const [open] = await waitForOpen(handle);
    expect(JSON.parse(open?.arguments ?? '')).toEqual({ page });
    const { structured, text } = await client.call('await', { handles: [handle], timeoutSeconds: 0 });
    expect(text.length).toBeLessThan(10_000);
    expect(structured).toMatchObject({ runs: [{ pendingApproval: { id: open?.id } }] });
    await client.call('approve', { handle, allow: true, approvalId: open?.id });
    await client.call('await', { handles: [handle] });
    expect(deletions(page)).toBe(1);
  });

  it('makes any tool wait that it names in approveTools', async () => {
    const handle = await spawn(stack.lookingUp('found'), { approveTools: ['desk__lookup'] });
    expect(await waitForOpen(handle)).toMatchObject([{ tool: 'desk__lookup' }]);
    await client.call('approve', { handle, allow: true });
    const { structured } = await client.call('await', { handles: [handle] });
    expect(structured).toMatchObject({
      runs: [{ status: 'Completed', result: 'found', failedToolCalls: 0 }],
    });
  });

  it.each(['all', 'any'])(
    'awaits %s of its runs as long as one is at work, then hears that the rest waits',
    async (mode) => {
      const atWork = stack.holding('worked');
      const handles = [await spawn(deleting(randomUUID())), await spawn(atWork.task)];
      await waitForOpen(handles[0] ?? '');
      await atWork.held;
      const seen: string[] = [];
      const waiting = client.call(
        'await',
        { handles, mode },
        { onprogress: ({ message }) => seen.push(message ?? '') },
      );
      // Two reports of progress are as many moments at which it had not given up.
      await vi.waitFor(() => expect(seen.length).toBeGreaterThan(30), bound);
      atWork.release();
      const { structured, text } = await waiting;
      expect(structured).toMatchObject({
        done: mode === 'any',
        runs: [{ status: 'AwaitingApproval' }, { status: 'Completed', result: 'worked' }],
      });
      expect(text).toContain(`1 tool call of ${handles[0]} waits for approval`);
      await client.call('cancel', { handle: handles[0] });
    },
  );

  it('is told at a time-out what waits among what is at work', async () => {
    const atWork = stack.holding('worked');
    const handles = [await spawn(deleting(randomUUID())), await spawn(atWork.task)];
    await waitForOpen(handles[0] ?? '');
    await atWork.held;
    const { structured, text } = await client.call('await', { handles, timeoutSeconds: 0.1 });
    expect(structured).toMatchObject({ done: false, runs: [{ pendingApproval: {} }, { status: 'Running' }] });
    expect(text).toContain('Time is up with 2 runs still at work');
    expect(text).toContain(`1 tool call of ${handles[0]} waits for approval`);
    atWork.release();
    await client.call('cancel', { handle: handles[0] });
    await client.call('await', { handles });
  });

  it('cancels a run that waits, and nothing waits any more', async () => {
    const page = randomUUID();
    const handle = await spawn(deleting(page));
    const [open] = await waitForOpen(handle);
    await client.call('cancel', { handle, reason: 'changed my mind' });
    const { structured } = await client.call('await', { handles: [handle] });
    expect(structured).toMatchObject({
      done: true,
      runs: [{ status: 'Cancelled', reason: 'changed my mind' }],
    });
    expect(JSON.stringify(structured)).not.toContain('pendingApproval');
    const late = await client.call('approve', { handle, allow: true, approvalId: open?.id });
    expect(late.isError).toBe(true);
    expect(late.text).toContain('it has ended (Cancelled)');
    expect(deletions(page)).toBe(0);
  });
});

describe('clients that answer together', () => {
  it('one is accepted, and each of the others is told what counts', async () => {
    const page = randomUUID();
    const clients = await Promise.all(
      Array.from(
        { length: 12 },
        async (_, index) =>
          await connectClient(index % 2 === 0 ? 'modern' : 'sdk', stack.mcpUrl, `client-${index}`),
      ),
    );
    const [first] = clients;
    if (first === undefined) throw new Error('no client');
    const handle = String((await first.call('spawn', { task: deleting(page) })).structured['handle']);
    await first.call('await', { handles: [handle] });
    const replies = await Promise.all(
      clients.map(async (client, index) => await client.call('approve', { handle, allow: index % 2 === 0 })),
    );
    expect(replies.filter(({ isError }) => isError)).toEqual([]);
    const accepted = replies.filter(({ structured }) => structured['outcome'] === 'accepted');
    expect(accepted).toHaveLength(1);
    const { allow, by, approvalId } = accepted[0]?.structured ?? {};
    for (const { structured } of replies) expect(structured).toMatchObject({ allow, by, approvalId });
    const { structured } = await first.call('await', { handles: [handle] });
    expect(structured).toMatchObject({ runs: [{ status: 'Completed' }] });
    expect(deletions(page)).toBe(allow === true ? 1 : 0);
    for (const client of clients) await client.close();
  });
});

describe('without a worker', () => {
  it('a decision that nobody takes is said to be open, and is taken when it is sent again', async () => {
    const page = randomUUID();
    const server = await stack.startServer({ temporalCallMs: 2_000 });
    const client = await connectClient('modern', `${server.url}/mcp`);
    const handle = String((await client.call('spawn', { task: deleting(page) })).structured['handle']);
    await client.call('await', { handles: [handle] });
    await stack.worker.close();
    const lost = await client.call('approve', { handle, allow: true });
    expect(lost.isError).toBe(true);
    expect(lost.text).toContain('it is not known whether the decision was taken');
    // Status needs no worker.
    expect((await client.call('status', { handle })).structured).toMatchObject({
      status: 'AwaitingApproval',
    });
    const another = await stack.startWorker(inject('temporalAddress'));
    const taken = await vi.waitFor(async () => {
      const reply = await client.call('approve', { handle, allow: true });
      expect(reply.isError).toBe(false);
      return reply;
    }, bound);
    expect(taken.structured).toMatchObject({ allow: true });
    const { structured } = await client.call('await', { handles: [handle] });
    expect(structured).toMatchObject({ runs: [{ status: 'Completed', failedToolCalls: 0 }] });
    expect(deletions(page)).toBe(1);
    await another.close();
    const late = await client.call('approve', { handle, allow: false });
    expect([late.isError, late.structured['outcome'], late.structured['allow']]).toEqual([
      false,
      'already decided',
      true,
    ]);
    await client.close();
  });
});
