/** Promise: five kinds of client get along with this server in the same way, approvals included. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { connectKind, endsTheCall, kinds } from './client-kinds.ts';
import { allow, bound, deleting, deletionsOf } from './deleting-runs.ts';
import type { AnswerForm, FormAnswer, Progress, ShownForm, TestClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
let server: McpServerHandle;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
  server = await stack.startServer({ approvalLooks: { everyMs: 100 } });
});
afterAll(async () => {
  await stack.close();
});

const deletions = (page: string): number => deletionsOf(stack, page);

describe.each(kinds)('%s', (kind) => {
  const connect = async (answer?: AnswerForm) => await connectKind(kind, { stack, server }, answer);
  let client: TestClient;
  let mute: TestClient;
  /** What the person at `client` does with the next form. */
  let answer: AnswerForm;
  const forms: ShownForm[] = [];
  beforeAll(async () => {
    const person: AnswerForm = async (form) => {
      forms.push(form);
      return await answer(form);
    };
    [client, mute] = await Promise.all([connect(person), connect()]);
  });
  afterEach(() => {
    forms.splice(0);
  });
  afterAll(async () => {
    await client.close();
    await mute.close();
  });

  async function spawn(task: string, over: Record<string, unknown> = {}): Promise<string> {
    const { structured, isError, text } = await client.call('spawn', { task, ...over });
    expect([isError, text]).toEqual([false, text]);
    return String(structured['handle']);
  }

  async function pendingOf(handle: string): Promise<unknown> {
    return (await client.call('status', { handle })).structured['pendingApproval'];
  }

  async function untilItWaits(handle: string): Promise<void> {
    await vi.waitFor(async () => expect(await pendingOf(handle)).toBeDefined(), bound);
  }

  it('spawns three and awaits all of them in one call, in their order', async () => {
    const handles: string[] = [];
    for (const word of ['one', 'two', 'three']) handles.push(await spawn(stack.lookingUp(word)));
    const { structured, isError } = await client.call('await', { handles });
    expect(isError).toBe(false);
    expect(structured).toMatchObject({
      done: true,
      runs: ['one', 'two', 'three'].map((result, index) => ({
        handle: handles[index],
        status: 'Completed',
        result,
      })),
    });
    expect(forms).toEqual([]);
  });

  it('awaits any, hears of progress, comes back after a time-out, and gets the rest', async () => {
    const held = stack.holding('late');
    const handles = [await spawn(held.task), await spawn(stack.saying('early'))];
    const any = await client.call('await', { handles, mode: 'any' });
    expect(any.structured).toMatchObject({
      done: true,
      runs: [{ status: 'Running' }, { status: 'Completed', result: 'early' }],
    });
    await held.held;
    const timedOut = await client.call('await', { handles, timeoutSeconds: 0.2 });
    expect(timedOut.isError).toBe(false);
    expect(timedOut.structured).toMatchObject({
      done: false,
      hint: expect.stringContaining('call await again'),
      runs: [{ status: 'Running' }, { status: 'Completed' }],
    });
    const seen: Progress[] = [];
    const waiting = client.call('await', { handles }, { onprogress: (progress) => seen.push(progress) });
    await vi.waitFor(() => expect(seen.length).toBeGreaterThan(2), bound);
    held.release();
    expect((await waiting).structured).toMatchObject({ done: true, runs: [{ result: 'late' }, {}] });
    expect(seen[0]?.message).toContain('1 of 2 ended');
    const values = seen.map(({ progress }) => progress);
    expect(values).toEqual(values.toSorted((one, other) => one - other));
    for (const { progress, total } of seen) expect(progress).toBeLessThanOrEqual(total ?? 0);
  });

  it('is asked at once about a call that waits, also while another run works, and the call is made', async () => {
    const page = randomUUID();
    const held = stack.holding('worked');
    const handles = [await spawn(held.task), await spawn(deleting(page))];
    await held.held;
    answer = async ({ message, requestedSchema }) => {
      expect(message).toContain('desk__delete_page');
      expect(message.split('\n')).toContain(JSON.stringify({ page }));
      expect(message).toContain(handles[1]);
      expect(requestedSchema).toMatchObject({ properties: { allow: { type: 'boolean' } } });
      expect(deletions(page)).toBe(0);
      return await Promise.resolve(allow);
    };
    const waiting = client.call('await', { handles });
    await vi.waitFor(() => expect(deletions(page)).toBe(1), bound);
    held.release();
    const { structured, text, isError } = await waiting;
    expect(isError).toBe(false);
    expect(structured).toMatchObject({
      done: true,
      runs: [{ result: 'worked' }, { status: 'Completed', result: 'done', toolCalls: 1, failedToolCalls: 0 }],
      notes: [`the user allowed desk__delete_page of ${handles[1]}`],
    });
    expect(text).toContain(`note: the user allowed desk__delete_page of ${handles[1]}`);
    expect(forms).toHaveLength(1);
    expect(deletions(page)).toBe(1);
  });

  it.each<FormAnswer>([
    { action: 'decline' },
    { action: 'cancel' },
    { action: 'accept', content: { allow: false } },
  ])('says no with %j', async (no) => {
    const page = randomUUID();
    const handle = await spawn(deleting(page));
    answer = async () => await Promise.resolve(no);
    const { structured } = await client.call('await', { handles: [handle] });
    expect(structured).toMatchObject({
      done: true,
      runs: [{ status: 'Completed', toolCalls: 1, failedToolCalls: 1 }],
      notes: [`the user declined desk__delete_page of ${handle}`],
    });
    expect(forms).toHaveLength(1);
    expect(deletions(page)).toBe(0);
  });

  it('is asked within run too, which starts its sub-agent once', async () => {
    const page = randomUUID();
    const task = `${page} ${deleting(page)}`;
    answer = async () => await Promise.resolve(allow);
    const { structured } = await client.call('run', { task });
    expect(structured).toMatchObject({ done: true, runs: [{ result: 'done', failedToolCalls: 0 }] });
    expect(forms).toHaveLength(1);
    expect(deletions(page)).toBe(1);
    await vi.waitFor(async () => {
      const { runs } = (await client.call('status')).structured as { runs: { task: string }[] };
      expect(runs.filter((run) => run.task.includes(page))).toHaveLength(1);
    }, bound);
  });

  it('gets pendingApproval when it cannot be asked, and approves with the tool', async () => {
    const page = randomUUID();
    const { handle } = (await mute.call('spawn', { task: deleting(page) })).structured;
    const told = await mute.call('await', { handles: [handle] });
    expect(told.structured).toMatchObject({
      done: false,
      hint: expect.stringContaining('call approve'),
      runs: [{ status: 'AwaitingApproval', pendingApproval: { tool: 'desk__delete_page' } }],
    });
    expect((await mute.call('approve', { handle, allow: true })).structured).toMatchObject({
      outcome: 'accepted',
    });
    const { structured } = await mute.call('await', { handles: [handle] });
    expect(structured).toMatchObject({ done: true, runs: [{ result: 'done' }] });
    expect(deletions(page)).toBe(1);
  });

  it('decides nothing when its form fails, and is asked anew by the next call', async () => {
    const page = randomUUID();
    const handle = await spawn(deleting(page));
    answer = async () => await Promise.reject(new Error('no screen'));
    const [told] = await Promise.allSettled([client.call('await', { handles: [handle] })]);
    // A client that was given the question with the end of its call has nobody to tell; the others are told
    // what a client that cannot be asked is told, and are not asked again in that call.
    const goesOn = !endsTheCall(kind);
    expect(told?.status).toBe(goesOn ? 'fulfilled' : 'rejected');
    const words = told?.status === 'fulfilled' ? told.value.text : String(told?.reason);
    expect(words).toContain('no screen');
    expect(words.includes('for approval: show it to the user and call approve')).toBe(goesOn);
    expect(words.includes(`${handle}: AwaitingApproval`)).toBe(goesOn);
    expect(forms).toHaveLength(1);
    expect(deletions(page)).toBe(0);
    answer = async () => await Promise.resolve(allow);
    const { structured } = await client.call('await', { handles: [handle] });
    expect(structured).toMatchObject({ done: true, runs: [{ result: 'done' }] });
    expect(deletions(page)).toBe(1);
  });

  it('goes while it is asked: nothing is decided and nothing left open', async () => {
    const page = randomUUID();
    let shown: ShownForm | null = null;
    const leaver = await connect(async (form) => {
      shown = form;
      return await new Promise(() => undefined);
    });
    const { handle } = (await leaver.call('spawn', { task: deleting(page) })).structured;
    const waiting = leaver.call('await', { handles: [handle] });
    waiting.catch(() => undefined);
    await vi.waitFor(() => expect(shown).not.toBeNull(), bound);
    await leaver.drop();
    await vi.waitFor(async () => {
      expect(await stack.metric('fermata_mcp_tool_calls_active', server)).toBe(0);
      expect(await stack.metric('fermata_mcp_watched_runs', server)).toBe(0);
    }, bound);
    const { structured } = await client.call('status', { handle });
    expect(structured).toMatchObject({ status: 'AwaitingApproval' });
    expect(deletions(page)).toBe(0);
    await client.call('cancel', { handle });
  });

  it('never times out, however long it waits and is asked, when progress resets its time', async () => {
    const page = randomUUID();
    const held = stack.holding('at last');
    const handles = [await spawn(held.task), await spawn(deleting(page))];
    await held.held;
    await untilItWaits(handles[1] ?? '');
    const patience = { timeout: 600, resetTimeoutOnProgress: true };
    const seen: Progress[] = [];
    // The person thinks for twice as long as the client would wait in silence.
    answer = async () => {
      const before = seen.length;
      const startedMs = performance.now();
      await vi.waitFor(() => {
        expect(performance.now() - startedMs).toBeGreaterThan(1_200);
        // A call that was ended with the question reports nothing until it is made again.
        expect(seen.length - before).toBeGreaterThanOrEqual(endsTheCall(kind) ? 0 : 5);
      }, bound);
      return allow;
    };
    const onprogress = (progress: Progress): void => void seen.push(progress);
    const waiting = client.call('await', { handles }, { ...patience, onprogress });
    await vi.waitFor(() => expect(deletions(page)).toBe(1), bound);
    const before = seen.length;
    const startedMs = performance.now();
    await vi.waitFor(() => {
      expect(performance.now() - startedMs).toBeGreaterThan(1_200);
      expect(seen.length - before).toBeGreaterThan(5);
    }, bound);
    held.release();
    const { structured } = await waiting;
    expect(structured).toMatchObject({ done: true, runs: [{ result: 'at last' }, { result: 'done' }] });
    const asking = seen.filter(({ message }) => message?.includes('asking the user about desk__delete_page'));
    expect(asking.length > 0).toBe(!endsTheCall(kind));
  });
});
