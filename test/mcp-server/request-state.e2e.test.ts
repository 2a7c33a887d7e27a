/** A call that was ended with questions is taken up anywhere, by whoever asked, and by nobody else. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import type { McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { bearer, namedToken, testAccess, tokenOf } from '../auth/test-access.ts';
import { allow, bound, deleting, deletionsOf } from './deleting-runs.ts';
import { toReply, type Progress, type ToolReply } from './mcp-clients.ts';
import {
  questionsSchema,
  rawRequest,
  type Questions,
  type RawAnswer,
  type RawOptions,
} from './raw-client.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
let server: McpServerHandle;
const quick = { approvalLooks: { everyMs: 100 } };
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    access: testAccess([namedToken('ann'), namedToken('bob'), namedToken('ops', { admin: true })]),
  });
  server = await stack.startServer(quick);
});
afterAll(async () => {
  await stack.close();
});

const deletions = (page: string): number => deletionsOf(stack, page);

type Retry = Partial<Record<'inputResponses' | 'requestState', unknown>>;

async function send(
  tool: string,
  args: Record<string, unknown>,
  retry: Retry = {},
  { at = server, as = 'ann', ...options }: RawOptions & { at?: McpServerHandle; as?: string } = {},
): Promise<RawAnswer> {
  const params = { name: tool, arguments: args, ...retry };
  const headers = bearer(tokenOf(as));
  return await rawRequest(`${at.url}/mcp`, 'tools/call', params, { headers, forms: true, ...options });
}

async function call(...parameters: Parameters<typeof send>): Promise<ToolReply> {
  return toReply((await send(...parameters)).result);
}

async function asked(...parameters: Parameters<typeof send>): Promise<Questions> {
  return questionsSchema.parse((await send(...parameters)).result);
}

function answering({ inputRequests, requestState }: Questions, answer: unknown = allow): Retry {
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((id) => [id, answer]));
  return { inputResponses, requestState };
}

async function spawn(task: string): Promise<string> {
  return String((await call('spawn', { task })).structured['handle']);
}

async function stillWaits(handle: string): Promise<void> {
  expect((await call('status', { handle })).structured).toMatchObject({ status: 'AwaitingApproval' });
}

it('is answered at another instance, also when the one that asked is gone', async () => {
  for (const isGone of [false, true]) {
    const page = randomUUID();
    const first = await stack.startServer(quick);
    const args = { handles: [await spawn(deleting(page))] };
    const questions = await asked('await', args, {}, { at: first });
    expect(Object.keys(questions.inputRequests)).toEqual([expect.stringMatching(/^apr_[0-9a-f]{16}$/)]);
    if (isGone) await first.close();
    const { structured } = await call('await', args, answering(questions));
    expect(structured).toMatchObject({ done: true, runs: [{ result: 'done', failedToolCalls: 0 }] });
    expect(deletions(page)).toBe(1);
    if (!isGone) await first.close();
  }
});

it('of run goes on with the sub-agent that the first call has started', async () => {
  const page = randomUUID();
  const args = { task: `${page} ${deleting(page)}` };
  const first = await stack.startServer(quick);
  const questions = await asked('run', args, {}, { at: first });
  await first.close();
  const { structured } = await call('run', args, answering(questions));
  expect(structured).toMatchObject({ done: true, runs: [{ result: 'done' }] });
  expect(deletions(page)).toBe(1);
  await vi.waitFor(async () => {
    const { runs } = (await call('status', {})).structured as { runs: { task: string }[] };
    expect(runs.filter(({ task }) => task.includes(page))).toHaveLength(1);
  }, bound);
});

it('decides nothing with a state that was changed or made up', async () => {
  const page = randomUUID();
  const args = { handles: [await spawn(deleting(page))] };
  const questions = await asked('await', args);
  const { requestState: state } = questions;
  const [head = '', body = '', digest = ''] = state.split('.');
  const payload = Buffer.from(body, 'base64url').toString();
  const longer = Buffer.from(payload.replace(/"leftMs":[\d.]+/, '"leftMs":9999999')).toString('base64url');
  for (const wrong of [
    `${head}.${longer}.${digest}`,
    `${state.slice(0, -3)}AAA`,
    `${head}.${body}`,
    '',
    'made up',
    7,
    { p: {} },
  ]) {
    const { error, result } = await send('await', args, { ...answering(questions), requestState: wrong });
    expect([wrong, error?.code, result]).toEqual([wrong, -32_602, undefined]);
  }
  await stillWaits(args.handles[0] ?? '');
  expect(deletions(page)).toBe(0);
  expect((await call('await', args, answering(questions))).structured).toMatchObject({ done: true });
});

it('is of no use to another caller, with another tool, or with other arguments', async () => {
  const page = randomUUID();
  const handle = await spawn(deleting(page));
  const args = { handles: [handle] };
  const questions = await asked('await', args);
  const retry = answering(questions);
  for (const refused of [
    await call('await', args, retry, { as: 'bob' }),
    // An admin may approve this call, but in a call of its own.
    await call('await', args, retry, { as: 'ops' }),
    await call('await', { ...args, timeoutSeconds: 46 }, retry),
    await call('await', { handles: [handle, handle] }, retry),
    await call('run', { task: 'anything' }, retry),
  ]) {
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain('so nothing was decided');
  }
  await stillWaits(handle);
  expect(deletions(page)).toBe(0);
  // Written otherwise, they are the same arguments.
  const same = { timeoutSeconds: '45', mode: 'all', handles: JSON.stringify([handle]) };
  expect((await call('await', same, retry)).structured).toMatchObject({ done: true });
  expect(deletions(page)).toBe(1);
});

it('counts once, however often it is sent', async () => {
  const page = randomUUID();
  const args = { handles: [await spawn(deleting(page))] };
  const questions = await asked('await', args);
  const retries = await Promise.all(
    [allow, { action: 'decline' }, allow].map(
      async (answer) => await call('await', args, answering(questions, answer)),
    ),
  );
  const late = await call('await', args, answering(questions, { action: 'decline' }));
  for (const { isError, structured } of [...retries, late]) {
    expect(isError).toBe(false);
    expect(structured).toMatchObject({
      done: true,
      runs: [{ toolCalls: 1, failedToolCalls: 1 - deletions(page) }],
    });
  }
  expect(late.text).toMatch(
    /the user declined desk__delete_page of run_\w+, but it was (allowed|declined) by ann before/,
  );
});

it('without an answer to its question is not asked again in that call, and says what to do', async () => {
  const page = randomUUID();
  const args = { handles: [await spawn(deleting(page))] };
  for (const answers of [{}, { inputResponses: {} }, { inputResponses: { other: allow } }]) {
    const { requestState } = await asked('await', args);
    const { structured } = await call('await', args, { ...answers, requestState });
    expect(structured).toMatchObject({
      done: false,
      hint: expect.stringContaining('call approve'),
      runs: [{ status: 'AwaitingApproval', pendingApproval: {} }],
      notes: [expect.stringContaining('the client sent no answer about desk__delete_page')],
    });
  }
  expect(deletions(page)).toBe(0);
  await call('cancel', { handle: args.handles[0] });
});

it('leaves the time to wait as it was, however long the person takes', async () => {
  const page = randomUUID();
  const held = stack.holding('worked');
  const args = { handles: [await spawn(held.task), await spawn(deleting(page))], timeoutSeconds: 3 };
  await held.held;
  const questions = await asked('await', args);
  const startedMs = performance.now();
  // The person takes longer than the whole of the time.
  await vi.waitFor(() => expect(performance.now() - startedMs).toBeGreaterThan(3_200), bound);
  const seen: Progress[] = [];
  const waiting = call('await', args, answering(questions), {
    onprogress: (progress) => seen.push(progress),
  });
  await vi.waitFor(() => expect(deletions(page)).toBe(1), bound);
  await vi.waitFor(() => expect(seen.length).toBeGreaterThan(3), bound);
  held.release();
  expect((await waiting).structured).toMatchObject({
    done: true,
    runs: [{ result: 'worked' }, { result: 'done' }],
  });
  for (const { progress, total } of seen) expect([progress < 3, total]).toEqual([true, expect.closeTo(3, 0)]);
});

it('is asked eight times a call; what waits after that is told', async () => {
  const pages = Array.from({ length: 9 }, () => randomUUID());
  const calls = pages.map((page) => ({ tool: 'delete_page', arguments: { page } }));
  const task = `delete [[sim ${JSON.stringify({ calls, answer: 'done' })}]]`;
  const args = { handles: [String((await call('spawn', { task, maxToolCalls: 9 })).structured['handle'])] };
  let retry: Retry = {};
  for (let round = 1; round <= 8; round += 1) retry = answering(await asked('await', args, retry));
  const { structured } = await call('await', args, retry);
  expect(structured).toMatchObject({ done: false, runs: [{ pendingApproval: {} }] });
  expect(structured['notes']).toHaveLength(8);
  const last = answering(await asked('await', args));
  expect((await call('await', args, last)).structured).toMatchObject({
    done: true,
    runs: [{ toolCalls: 9 }],
  });
  expect(pages.map(deletions)).toEqual(pages.map(() => 1));
});
