/** Open approvals outlive the processes that could have held them: worker, mcp-server and clients. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { z } from 'zod';
import { transcriptQuery } from '../../contracts/run.ts';
import { caseFile } from '../case-file.ts';
import { startWorkerProcess, type WorkerProcess } from '../workflows/worker-process.ts';
import { connectClient, type TestClient, type ToolReply } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

const d09 = caseFile('D09');

const faultPlanSchema = z.object({
  open_approvals: z.array(z.object({ run: z.enum(['parent', 'child of parent']) })),
  restart: z.array(z.enum(['worker', 'api'])),
  answers: z.array(z.string().regex(/^(approve|deny) (parent|child)( again)?$/)),
});
type FaultPlan = z.infer<typeof faultPlanSchema>;
type RunName = 'parent' | 'child';

const patience = { timeout: 120_000, interval: 200 };
/** On a busy machine a worker that was just started takes its time, and a decision is sent once here. */
const patientServer = { temporalCallMs: 50_000 };
/** Several workers are started in a test, each a process. */
const testTimeoutMs = 400_000;

let stack: Stack;
let worker: WorkerProcess;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
  await stack.worker.close();
  worker = await startWorkerProcess(stack.workerConfig);
});
afterAll(async () => {
  await worker?.kill();
  await stack?.close();
});

function deleting(page: string): string {
  const calls = [{ tool: 'delete_page', arguments: { page } }];
  return `delete [[sim ${JSON.stringify({ calls, answer: 'done' })}]]`;
}

/** How often the deletion of `page` was begun. */
function deletions(page: string): number {
  const lines = stack.tools
    .calls()
    .lines.filter(({ tool, phase }) => tool === 'delete_page' && phase === 'started');
  return lines.filter((line) => (line.arguments as { page: string }).page === page).length;
}

const pendingSchema = z.object({ id: z.string() });

interface OpenRun {
  readonly handle: string;
  readonly page: string;
  readonly approvalId: string;
}

async function openApproval(client: TestClient, parent: string | null): Promise<OpenRun> {
  const page = randomUUID();
  const spawned = await client.call('spawn', {
    task: deleting(page),
    ...(parent === null ? {} : { parent }),
  });
  expect([spawned.isError, spawned.text]).toEqual([false, spawned.text]);
  const handle = String(spawned.structured['handle']);
  return { handle, page, approvalId: await openId(client, handle) };
}

async function openId(client: TestClient, handle: string): Promise<string> {
  return await vi.waitFor(async () => {
    const { structured, text } = await client.call('status', { handle });
    const open = pendingSchema.safeParse(structured['pendingApproval']);
    if (!open.success) throw new Error(`nothing waits for approval:\n${text}`);
    return open.data.id;
  }, patience);
}

/** Who does not know whether a decision was taken sends it again. */
async function repeatAnswer(client: TestClient, args: Record<string, unknown>): Promise<ToolReply> {
  return await vi.waitFor(async () => {
    const reply = await client.call('approve', args);
    expect([reply.isError, reply.text]).toEqual([false, reply.text]);
    return reply;
  }, patience);
}

async function awaitEnd(client: TestClient, handles: readonly string[]): Promise<ToolReply> {
  return await vi.waitFor(async () => {
    const reply = await client.call('await', { handles, timeoutSeconds: 30 });
    expect(reply.structured).toMatchObject({ done: true });
    return reply;
  }, patience);
}

async function toolTexts(handle: string): Promise<string[]> {
  const run = stack.temporal.workflow.getHandle(handle);
  const transcript = await run.query<{ role: string; content: string }[]>(transcriptQuery);
  return transcript.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

/** Carries a plan out: opens, kills, answers by the ids from before, and gives what each answer was told. */
async function carryOut(plan: FaultPlan) {
  let server = await stack.startServer(patientServer);
  let client = await connectClient('modern', `${server.url}/mcp`, 'd09');
  const runs = new Map<RunName, OpenRun>();
  for (const { run } of plan.open_approvals) {
    const parent = run === 'parent' ? null : (runs.get('parent')?.handle ?? '');
    runs.set(run === 'parent' ? 'parent' : 'child', await openApproval(client, parent));
  }
  for (const part of plan.restart) {
    if (part === 'worker') {
      await worker.kill();
      worker = await startWorkerProcess(stack.workerConfig);
    } else {
      await server.close();
      await client.close().catch(() => undefined);
      server = await stack.startServer(patientServer);
      client = await connectClient('modern', `${server.url}/mcp`, 'd09');
    }
  }
  const listed = await Promise.all(
    [...runs.values()].map(async ({ handle }) => await openId(client, handle)),
  );
  expect(listed).toEqual([...runs.values()].map(({ approvalId }) => approvalId));
  const replies: ToolReply[] = [];
  for (const answer of plan.answers) {
    const [verb, name] = answer.split(' ') as ['approve' | 'deny', RunName];
    const run = runs.get(name);
    if (run === undefined) throw new Error(`no approval of ${name} is open`);
    const { handle, approvalId } = run;
    replies.push(await client.call('approve', { handle, approvalId, allow: verb === 'approve' }));
  }
  const handles = [...runs.values()].map(({ handle }) => handle);
  const awaited = await awaitEnd(client, handles);
  await client.close();
  await server.close();
  return { listed, replies, runs, awaited };
}

/** What must come of a run: the first answer counts, whatever comes after. */
function firstAnswer(plan: FaultPlan, name: RunName): 'approve' | 'deny' {
  return plan.answers.find((answer) => answer.split(' ')[1] === name)?.startsWith('approve') === true
    ? 'approve'
    : 'deny';
}

async function expectSettled(plan: FaultPlan): Promise<void> {
  const { replies, runs, awaited } = await carryOut(plan);
  expect(awaited.structured).toMatchObject({ done: true });
  for (const [name, { handle, page }] of runs) {
    const allowed = firstAnswer(plan, name) === 'approve';
    expect(deletions(page)).toBe(allowed ? 1 : 0);
    expect(await toolTexts(handle)).toEqual([
      allowed ? `Page "${page}" is deleted.` : 'Error: the user declined this tool call',
    ]);
  }
  const answered = new Set<string>();
  for (const [index, answer] of plan.answers.entries()) {
    const name = answer.split(' ')[1] as RunName;
    const reply = replies[index];
    expect(reply?.isError).toBe(false);
    expect(reply?.structured).toMatchObject({
      outcome: answered.has(name) ? 'already decided' : 'accepted',
      allow: firstAnswer(plan, name) === 'approve',
    });
    answered.add(name);
  }
}

describe(`${d09.id} ${d09.title}`, () => {
  const given = faultPlanSchema.parse(d09.given);
  const expected = z
    .object({
      resumed: z.tuple([z.literal('parent: tool runs once'), z.literal('child: denied result to the model')]),
      third_answer: z.literal('409 or already decided'),
      listed_before_answer: z.number(),
    })
    .parse(d09.expect);

  it(
    'is settled as the case says',
    async () => {
      const { listed, replies, runs, awaited } = await carryOut(given);
      expect(new Set(listed).size).toBe(expected.listed_before_answer);
      const parent = runs.get('parent');
      const child = runs.get('child');
      expect(deletions(parent?.page ?? '')).toBe(1);
      expect(deletions(child?.page ?? '')).toBe(0);
      expect(await toolTexts(child?.handle ?? '')).toEqual(['Error: the user declined this tool call']);
      expect(awaited.structured).toMatchObject({
        done: true,
        runs: [
          { handle: parent?.handle, status: 'Completed', toolCalls: 1, failedToolCalls: 0 },
          { handle: child?.handle, status: 'Completed', toolCalls: 1, failedToolCalls: 1 },
        ],
      });
      expect(replies.map(({ structured }) => structured['outcome'])).toEqual([
        'accepted',
        'accepted',
        'already decided',
      ]);
      expect(replies[2]?.text).toContain(
        'was already decided: the call of desk__delete_page was allowed by ',
      );
    },
    testTimeoutMs,
  );

  const parentAndChild: FaultPlan['open_approvals'] = [{ run: 'parent' }, { run: 'child of parent' }];
  const variants: FaultPlan[] = [
    {
      open_approvals: parentAndChild,
      restart: ['api'],
      answers: ['deny child', 'approve child again', 'approve parent'],
    },
    {
      open_approvals: parentAndChild,
      restart: ['worker'],
      answers: ['approve child', 'deny child again', 'deny parent'],
    },
    {
      open_approvals: parentAndChild,
      restart: ['worker', 'api', 'worker'],
      answers: ['deny parent', 'approve parent again', 'approve child', 'deny child again'],
    },
    {
      open_approvals: [{ run: 'parent' }],
      restart: ['api', 'worker'],
      answers: ['approve parent', 'approve parent again', 'deny parent again'],
    },
  ];
  it.each(variants)('is settled for $restart restarted and $answers', expectSettled, testTimeoutMs);
});

describe('a worker that is killed around a decision', () => {
  it.each([0, 40, 150])(
    '%i ms after it was sent runs the call at most once',
    async (killAfterMs) => {
      const server = await stack.startServer(patientServer);
      const client = await connectClient('modern', `${server.url}/mcp`);
      const { handle, page, approvalId } = await openApproval(client, null);
      const sent = client.call('approve', { handle, approvalId, allow: true });
      await new Promise((resolve) => setTimeout(resolve, killAfterMs));
      await worker.kill();
      worker = await startWorkerProcess(stack.workerConfig);
      await sent;
      const again = await repeatAnswer(client, { handle, approvalId, allow: true });
      expect(again.structured).toMatchObject({ allow: true });
      const { structured } = await awaitEnd(client, [handle]);
      expect(structured).toMatchObject({ runs: [{ status: 'Completed', toolCalls: 1 }] });
      const [text = ''] = await toolTexts(handle);
      const ran = deletions(page);
      expect(ran).toBeLessThanOrEqual(1);
      const known = text === `Page "${page}" is deleted.` && ran === 1;
      expect(known || text.startsWith('Error: the outcome of this call is unknown')).toBe(true);
      await client.close();
      await server.close();
    },
    testTimeoutMs,
  );
});
