/** Case D11: runs of one tree on a worker that can do one thing at a time, and children that end in every way. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createWorker, type FermataWorker, type WorkerConfig } from '../../activities/create-worker.ts';
import { callerSchema } from '../../contracts/ids.ts';
import { maxTreeDepth, transcriptQuery } from '../../contracts/run-names.ts';
import { handleFor } from '../../mcp-server/runs/handles.ts';
import { caseFile } from '../case-file.ts';
import { httpServer } from '../workflows/run-stack.ts';
import { startWorkerProcess } from '../workflows/worker-process.ts';
import { connectClient, type TestClient, type ToolReply } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

const d11 = caseFile('D11');
const slots = Number(d11.given['worker_activity_slots']);
const { children: childLimit } = d11.given['spawn_limit'] as { readonly children: number };
const spawned60 = d11.expect['spawn 60 children'] as { readonly started: number; readonly refused: number };
const { await_settles_within_s: settleSeconds } = d11.expect['each'] as {
  readonly await_settles_within_s: number;
};

let stack: Stack;
let client: TestClient;
let config: WorkerConfig;
let worker: FermataWorker;

const newWorker = async (): Promise<FermataWorker> =>
  await createWorker(config, { logger: pino({ level: 'silent' }) });

beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
  await stack.worker.close();
  const toolServers = { ...stack.workerConfig.toolServers, fermata: httpServer(stack.mcpUrl) };
  config = { ...stack.workerConfig, activitySlots: slots, toolServers };
  worker = await newWorker();
  client = await connectClient('modern', stack.mcpUrl);
});
afterAll(async () => {
  await client?.close();
  await worker?.close();
  await stack?.close();
});

const sim = (directive: object): string => `do it [[sim ${JSON.stringify(directive)}]]`;
const waiting = (milliseconds: number): string =>
  sim({ calls: [{ tool: 'desk__wait', arguments: { milliseconds } }], answer: 'waited' });

async function spawn(task: string, more: Record<string, unknown> = {}): Promise<string> {
  const { structured, isError, text } = await client.call('spawn', { task, ...more });
  if (isError) throw new Error(text);
  return String(structured['handle']);
}

interface Settled {
  readonly done: unknown;
  readonly seconds: number;
  readonly runs: readonly { readonly status: string; readonly reason?: string; readonly result?: string }[];
}

async function settle(...handles: readonly string[]): Promise<Settled> {
  const startedMs = performance.now();
  const { structured } = await client.call('await', { handles, timeoutSeconds: settleSeconds - 5 });
  const seconds = (performance.now() - startedMs) / 1_000;
  return { done: structured['done'], seconds, runs: structured['runs'] as Settled['runs'] };
}

describe(`${d11.id} ${d11.title}`, () => {
  it('await a healthy child: of a parent that is itself at work', async () => {
    const parent = await spawn(waiting(500));
    const child = await spawn(stack.lookingUp('child'), { parent });
    const { done, runs, seconds } = await settle(parent, child);
    expect(done).toBe(true);
    expect(runs).toMatchObject([{ result: 'waited' }, { result: 'child' }]);
    expect(seconds).toBeLessThan(settleSeconds);
  });

  it('await a healthy child: of a parent that awaits it with a tool call, in the only slot', async () => {
    const requestId = randomUUID();
    // The parent's tool calls come from the worker's own client.
    const child = handleFor(callerSchema.parse('fermata@127.0.0.1'), requestId);
    const look = { tool: 'fermata__await', arguments: { handles: [child], timeoutSeconds: 1 } };
    const parent = await spawn(
      sim({
        calls: [
          { tool: 'fermata__spawn', arguments: { task: 'Say something.', tools: [], requestId } },
          ...Array.from({ length: 4 }, () => look),
        ],
        answer: 'seen',
      }),
    );
    const { runs, seconds } = await settle(parent);
    expect(runs).toMatchObject([{ status: 'Completed', result: 'seen' }]);
    expect(seconds).toBeLessThan(settleSeconds);
    expect(await settle(child)).toMatchObject({ done: true, runs: [{ status: 'Completed' }] });
    // The child took its turn in the slot between two looks, not after the last one.
    const looks = stack.temporal.workflow.getHandle(parent).query<{ content: string }[]>(transcriptQuery);
    expect((await looks).some(({ content }) => content?.includes(`${child}: Completed`))).toBe(true);
  });

  it('child fails at start: whoever awaits it hears of it, with the reason', async () => {
    const parent = await spawn(waiting(300));
    const child = await spawn(sim({ calls: [], fault: { kind: 'error', status: 400 } }), { parent });
    const { done, runs } = await settle(child, parent);
    expect(done).toBe(true);
    expect(runs).toMatchObject([{ status: 'Failed' }, { status: 'Completed' }]);
    expect(runs[0]?.reason).not.toBe('');
  });

  it('child worker killed: another worker goes on, and the parent too', async () => {
    const parent = await spawn(stack.saying('parent'));
    await settle(parent);
    await worker.close();
    const doomed = await startWorkerProcess(config);
    const child = await spawn(waiting(120_000), { parent });
    await stack.tools.waitFor(({ running }) => running > 0);
    await doomed.kill();
    worker = await newWorker();
    const { done, runs, seconds } = await settle(child);
    expect(done).toBe(true);
    expect(runs).toMatchObject([{ status: 'Completed', result: 'waited', failedToolCalls: 1 }]);
    expect(seconds).toBeLessThan(settleSeconds);
  });

  it('child cancelled: it settles at once, and its parent goes on', async () => {
    const parent = await spawn(stack.saying('parent'));
    const child = await spawn(waiting(120_000), { parent });
    await client.call('cancel', { handle: child, reason: 'not needed' });
    const { done, runs } = await settle(child, parent);
    expect(done).toBe(true);
    expect(runs).toMatchObject([{ status: 'Cancelled' }, { status: 'Completed' }]);
  });

  it('child passes its deadline: it ends by its budget, in words', async () => {
    const parent = await spawn(stack.saying('parent'));
    await settle(parent);
    const child = await spawn(waiting(120_000), { parent, budgetSeconds: 1 });
    const { done, runs, seconds } = await settle(child);
    expect(done).toBe(true);
    expect(runs[0]?.status).toBe('Cancelled');
    expect(runs[0]?.reason).toContain('budget exceeded: seconds');
    expect(seconds).toBeLessThan(settleSeconds);
  });

  it('spawn deeper than a tree may be: refused with the reason, and the tree goes on', async () => {
    let deepest = await spawn(stack.saying('root'));
    const chain = [deepest];
    for (let depth = 2; depth <= maxTreeDepth; depth += 1) {
      deepest = await spawn(stack.saying(`depth ${depth}`), { parent: deepest });
      chain.push(deepest);
    }
    const refused: ToolReply = await client.call('spawn', {
      task: stack.saying('too deep'),
      parent: deepest,
    });
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain(`at most ${maxTreeDepth} runs deep`);
    const { done, runs } = await settle(...chain);
    expect(done).toBe(true);
    expect(runs.every(({ status }) => status === 'Completed')).toBe(true);
  });

  it('spawn 60 children: those over the limit are refused, and places are free again when runs have ended', async () => {
    const server = await stack.startServer({ maxRunning: childLimit });
    const many = await connectClient('modern', `${server.url}/mcp`, 'many');
    const root = await many.call('run', { task: stack.saying('root') });
    const [{ handle: parent }] = root.structured['runs'] as [{ readonly handle: string }];
    const blocker = await spawn(waiting(120_000));
    await stack.tools.waitFor(({ running }) => running > 0);
    const wanted = spawned60.started + spawned60.refused;
    const answers = await Promise.all(
      Array.from(
        { length: wanted },
        async (_, index) => await many.call('spawn', { task: stack.saying(`child ${index}`), parent }),
      ),
    );
    const started = answers.filter(({ isError }) => !isError);
    const refused = answers.filter(({ isError }) => isError);
    expect(started).toHaveLength(spawned60.started);
    expect(refused).toHaveLength(spawned60.refused);
    expect(refused.every(({ text }) => text.includes(`${childLimit} runs at work`))).toBe(true);
    await client.call('cancel', { handle: blocker });
    const handles = started.map(({ structured }) => String(structured['handle']));
    const awaited = await many.call('await', { handles, timeoutSeconds: settleSeconds });
    const runs = awaited.structured['runs'] as Settled['runs'];
    expect(runs.map(({ status }) => status)).toEqual(handles.map(() => 'Completed'));
    const again = await many.call('spawn', { task: stack.saying('again'), parent });
    expect(again.isError).toBe(false);
    await many.close();
  });
});
