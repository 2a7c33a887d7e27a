/** Approvals that are put to a person while things happen meanwhile, by two instances behind named tokens. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { bearer, namedToken, testAccess, tokenOf } from '../auth/test-access.ts';
import { allow, bound, decline, deleting, deletionsOf } from './deleting-runs.ts';
import { stdioCommand } from './client-kinds.ts';
import {
  connectAsking,
  connectStdio,
  type AnswerForm,
  type ClientKind,
  type ShownForm,
  type TestClient,
} from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
let server: McpServerHandle;
const quick = { approvalLooks: { everyMs: 100 } };
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    access: testAccess([namedToken('ann')]),
  });
  server = await stack.startServer(quick);
});
afterAll(async () => {
  await stack.close();
});

const deletions = (page: string): number => deletionsOf(stack, page);

/** A client whose person answers with what the test resolves. */
async function connect(kind: ClientKind, to: McpServerHandle = server) {
  const forms: (ShownForm & { reply: (answer: Awaited<ReturnType<AnswerForm>>) => void })[] = [];
  const answer: AnswerForm = async (form) =>
    await new Promise((resolve, reject) => {
      forms.push({ ...form, reply: resolve });
      form.signal.addEventListener('abort', () => reject(new Error('taken back')));
    });
  const headers = bearer(tokenOf('ann'));
  const client = await connectAsking(kind, `${to.url}/mcp`, { answer, headers });
  return { client, forms };
}

async function spawn(client: TestClient, task: string, over: Record<string, unknown> = {}): Promise<string> {
  const { structured, isError, text } = await client.call('spawn', { task, ...over });
  expect([isError, text]).toEqual([false, text]);
  return String(structured['handle']);
}

/** The line of a form that tells the arguments; its task is told too, and may hold the same words. */
function argumentsIn({ message }: ShownForm): string {
  return message.split('\n')[1] ?? '';
}

async function nothingIsOpen(): Promise<void> {
  await vi.waitFor(async () => {
    expect(await stack.metric('fermata_mcp_tool_calls_active', server)).toBe(0);
    expect(await stack.metric('fermata_mcp_watched_runs', server)).toBe(0);
  }, bound);
}

describe.each(['legacy', 'sdk'] as const)('a %s client that is being asked', (kind) => {
  it('sees the form taken back when somebody else decides, and hears of it', async () => {
    const page = randomUUID();
    const { client, forms } = await connect(kind);
    const { client: other } = await connect('modern');
    const handle = await spawn(client, deleting(page));
    const waiting = client.call('await', { handles: [handle] });
    await vi.waitFor(() => expect(forms).toHaveLength(1), bound);
    await other.call('approve', { handle, allow: true });
    const { structured, isError } = await waiting;
    expect(forms[0]?.signal.aborted).toBe(true);
    expect(isError).toBe(false);
    expect(structured).toMatchObject({
      done: true,
      runs: [{ status: 'Completed', failedToolCalls: 0 }],
      notes: [`desk__delete_page of ${handle}: allowed by ann, while the user was being asked`],
    });
    expect(deletions(page)).toBe(1);
    await client.close();
    await other.close();
    await nothingIsOpen();
  });

  it('sees the form taken back when any run has ended, and when its own run has', async () => {
    const { client, forms } = await connect(kind);
    const held = stack.holding('first');
    const handles = [await spawn(client, held.task), await spawn(client, deleting(randomUUID()))];
    await held.held;
    const any = client.call('await', { handles, mode: 'any' });
    await vi.waitFor(() => expect(forms).toHaveLength(1), bound);
    held.release();
    expect((await any).structured).toMatchObject({
      done: true,
      runs: [{ result: 'first' }, { status: 'AwaitingApproval', pendingApproval: {} }],
    });
    const all = client.call('await', { handles });
    await vi.waitFor(() => expect(forms).toHaveLength(2), bound);
    await client.call('cancel', { handle: handles[1], reason: 'not needed' });
    expect((await all).structured).toMatchObject({
      done: true,
      runs: [{ result: 'first' }, { status: 'Cancelled', reason: 'not needed' }],
    });
    expect(forms.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    await client.close();
    await nothingIsOpen();
  });

  it('sees the form taken back when it cancels the call; its session goes on', async () => {
    const page = randomUUID();
    const { client, forms } = await connect(kind);
    const handle = await spawn(client, deleting(page));
    const enough = new AbortController();
    const waiting = client.call('await', { handles: [handle] }, { signal: enough.signal });
    await vi.waitFor(() => expect(forms).toHaveLength(1), bound);
    enough.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await vi.waitFor(() => expect(forms[0]?.signal.aborted).toBe(true), bound);
    await nothingIsOpen();
    expect((await client.call('status', { handle })).structured).toMatchObject({
      status: 'AwaitingApproval',
    });
    const again = client.call('await', { handles: [handle] });
    await vi.waitFor(() => expect(forms).toHaveLength(2), bound);
    forms[1]?.reply(decline);
    expect((await again).structured).toMatchObject({ done: true, runs: [{ failedToolCalls: 1 }] });
    expect(deletions(page)).toBe(0);
    await client.close();
  });

  it('sees the form taken back when the server stops, and is told to make the call again', async () => {
    const page = randomUUID();
    const stopping = await stack.startServer(quick);
    const { client, forms } = await connect(kind, stopping);
    const handle = await spawn(client, deleting(page));
    const waiting = client.call('await', { handles: [handle] });
    await vi.waitFor(() => expect(forms).toHaveLength(1), bound);
    await stopping.close();
    const told = await waiting;
    expect([told.isError, told.text]).toEqual([true, expect.stringContaining('this server is stopping')]);
    expect(forms[0]?.signal.aborted).toBe(true);
    const { client: next, forms: asked } = await connect(kind);
    const again = next.call('await', { handles: [handle] });
    await vi.waitFor(() => expect(asked).toHaveLength(1), bound);
    asked[0]?.reply(allow);
    expect((await again).structured).toMatchObject({ done: true, runs: [{ result: 'done' }] });
    expect(deletions(page)).toBe(1);
    await client.drop();
    await next.close();
  });
});

describe.each(['legacy', 'modern'] as const)('a %s client', (kind) => {
  it('is asked about each of several calls of one reply, and each answer counts for its own', async () => {
    const pages = [randomUUID(), randomUUID(), randomUUID()] as const;
    const { client, forms } = await connect(kind);
    const handle = await spawn(client, deleting(...pages), { parallelToolCalls: true });
    const waiting = client.call('await', { handles: [handle] });
    for (let count = 1; count <= pages.length; count += 1) {
      await vi.waitFor(() => expect(forms.length).toBeGreaterThanOrEqual(count), bound);
      const form = forms[count - 1];
      form?.reply(argumentsIn(form).includes(pages[1]) ? decline : allow);
    }
    const { structured } = await waiting;
    expect(structured).toMatchObject({ done: true, runs: [{ toolCalls: 3, failedToolCalls: 1 }] });
    expect(structured['notes']).toHaveLength(3);
    expect(forms).toHaveLength(3);
    expect(pages.map(deletions)).toEqual([1, 0, 1]);
    await client.close();
  });

  it('is shown the whole of long arguments, which the list of runs cuts', async () => {
    const page = `${'x'.repeat(6_000)}${randomUUID()}`;
    const { client, forms } = await connect(kind);
    const handle = await spawn(client, deleting(page), { maxTokens: 0 });
    const waiting = client.call('await', { handles: [handle] });
    await vi.waitFor(() => expect(forms).toHaveLength(1), bound);
    expect(forms.map(argumentsIn)).toEqual([JSON.stringify({ page })]);
    expect(forms[0]?.message).not.toContain('cut here');
    forms[0]?.reply(decline);
    expect((await waiting).structured).toMatchObject({ done: true });
    await client.close();
  });

  it('is not asked by a call that only looks', async () => {
    const { client, forms } = await connect(kind);
    const handle = await spawn(client, deleting(randomUUID()));
    await vi.waitFor(async () => {
      const { structured } = await client.call('await', { handles: [handle], timeoutSeconds: 0 });
      expect(structured).toMatchObject({ done: false, runs: [{ pendingApproval: {} }] });
    }, bound);
    expect(forms).toEqual([]);
    await client.call('cancel', { handle });
    await client.close();
  });
});

it.each(['modern', 'legacy'] as const)('a %s client over stdio is asked as well', async (kind) => {
  const page = randomUUID();
  const messages: string[] = [];
  const client = await connectStdio(
    stdioCommand(stack),
    {
      answer: async ({ message }) => {
        messages.push(message);
        return await Promise.resolve(messages.length === 1 ? decline : allow);
      },
    },
    kind,
  );
  for (const made of [0, 1]) {
    const handle = await spawn(client, deleting(page));
    const { structured } = await client.call('await', { handles: [handle] });
    expect(structured).toMatchObject({ done: true, runs: [{ failedToolCalls: 1 - made }] });
    expect(deletions(page)).toBe(made);
  }
  expect(messages).toHaveLength(2);
  await client.close();
});

it('two clients that are asked about one call and answer together are both told what counts', async () => {
  for (const kinds of [
    ['legacy', 'sdk'],
    ['modern', 'legacy'],
    ['modern', 'modern'],
  ] as const) {
    const page = randomUUID();
    const [one, two] = [await connect(kinds[0]), await connect(kinds[1])];
    const handle = await spawn(one.client, deleting(page));
    const waiting = [one, two].map(async ({ client }) => await client.call('await', { handles: [handle] }));
    await vi.waitFor(() => expect([one.forms.length, two.forms.length]).toEqual([1, 1]), bound);
    one.forms[0]?.reply(allow);
    two.forms[0]?.reply(decline);
    const replies = await Promise.all(waiting);
    const made = deletions(page);
    for (const { isError, structured } of replies) {
      expect(isError).toBe(false);
      expect(structured).toMatchObject({ done: true, runs: [{ toolCalls: 1, failedToolCalls: 1 - made }] });
    }
    const notes = replies.map(({ structured }) => String((structured['notes'] as string[])[0]));
    const [mine, others] = made === 1 ? notes : notes.toReversed();
    expect(mine).toBe(`the user ${made === 1 ? 'allowed' : 'declined'} desk__delete_page of ${handle}`);
    // Late, or taken back just before: either way it is told what counts.
    expect(others).toMatch(new RegExp(`${made === 1 ? 'allowed' : 'declined'} by ann`));
    await one.client.close();
    await two.client.close();
  }
});
