/**
 * Deploys with Worker Versioning: two builds of the worker side by side on one Temporal server, which an
 * operator drives with Temporal's own command line. The second build's workflows could not replay the
 * first one's runs: whatever goes on where it should not would fail.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import type { Connection, WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import type { FermataWorker } from '../../activities/create-worker.ts';
import type { FakeRequest } from '../activities/fake-model.ts';
import { checkWorkers } from '../../cli/doctor/worker-checks.ts';
import { startOwnTemporal, type OwnTemporal } from '../own-temporal.ts';
import type { Ended } from '../cli/run-fermata.ts';
import { runInProcess } from '../cli/run-in-process.ts';
import { bundleChanged } from '../replay/changed-workflows.ts';
import { swappedOrder } from '../replay/order-change.ts';
import { startRunStack, type RunStack } from '../workflows/run-stack.ts';
import { openTree } from '../workflows/tree-stack.ts';
import { operatorCli, type OperatorCli } from './deployment-cli.ts';

const bound = { timeout: 30_000, interval: 100 };
let server: OwnTemporal;
let stack: RunStack;
let cli: OperatorCli;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-builds-'));
  server = await startOwnTemporal({ dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': '60' } });
  cli = operatorCli(inject('temporalBinary'), server.address);
  await writeFile(join(folder, 'other.js'), (await bundleChanged(swappedOrder)).code);
}, 120_000);
afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Turns that wait, by their task: the newest attempt of each. */
const waiting = new Map<string, () => void>();

/** Says `done` to a task, after a note where the task asks for notes; a task that begins with `hold` waits first. */
function answer(request: FakeRequest): void {
  const task = String(request.body.messages.find(({ role }) => role === 'user')?.['content']);
  const isFirst = request.body.messages.length === 1;
  const go = (): void => {
    if (!task.includes('notes') || request.body.tools === undefined) request.say('done');
    else request.call([{ name: 'kit__add_note', arguments: { text: 'a note' } }]);
  };
  if (task.startsWith('hold') && isFirst) waiting.set(task, go);
  else go();
}

async function isHeld(task: string): Promise<void> {
  await vi.waitFor(() => expect([...waiting.keys()]).toContain(task), bound);
}

async function release(task: string): Promise<void> {
  await isHeld(task);
  waiting.get(task)?.();
  waiting.delete(task);
}

interface Deployment {
  readonly name: string;
  /** Starts a worker of a build: `old` is the code of today, `new` cannot replay what `old` has begun. */
  start(buildId: 'old' | 'new', bundle?: string): Promise<FermataWorker>;
  makeCurrent(buildId: string): Promise<void>;
}

/** A task queue and a deployment of their own. */
async function withDeployment(work: (deployment: Deployment) => Promise<void>): Promise<void> {
  waiting.clear();
  stack = await startRunStack({
    temporalAddress: server.address,
    workflowBundlePath: inject('workflowBundlePath'),
    script: answer,
    startWorker: false,
  });
  const name = `test-${randomBytes(6).toString('hex')}`;
  try {
    await work({
      name,
      async start(buildId, bundle) {
        const other = bundle ?? (buildId === 'new' ? join(folder, 'other.js') : inject('workflowBundlePath'));
        return await stack.newWorker({
          deployment: { name, buildId },
          workflowBundle: { codePath: other },
        });
      },
      // Temporal knows of a build once its worker has asked for work.
      makeCurrent: async (buildId) =>
        await vi.waitFor(async () => await cli.setCurrent(name, buildId), bound),
    });
  } finally {
    await stack.close();
  }
}

const find = (workflowId: string, runId?: string): WorkflowHandle =>
  stack.client.workflow.getHandle(workflowId, runId);

/** Level and first words of each of doctor's findings, `laterMs` from now. */
async function doctorSays(name: string, laterMs: number): Promise<string[]> {
  const place = {
    namespace: 'default',
    taskQueue: stack.taskQueue,
    deployment: { name, buildId: 'new' },
  };
  const { connection } = stack.client;
  const findings = await checkWorkers(connection as Connection, place, Date.now() + laterMs);
  return findings.map(({ level, says }) =>
    level === 'fault' ? `fault ${says.replace(/ of test-.*/, '')}` : level,
  );
}

async function buildOf(run: WorkflowHandle): Promise<string | null | undefined> {
  const { raw } = await run.describe();
  return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
}

describe('a worker with a version', () => {
  it('keeps the runs it has begun when another build becomes current, and new runs go to that one', async () => {
    await withDeployment(async ({ name, start, makeCurrent }) => {
      await start('old');
      await makeCurrent('old');
      const began = await stack.start({ task: 'hold, then notes', maxToolCalls: 2 });
      await isHeld('hold, then notes');
      await start('new');
      await makeCurrent('new');
      const later = await stack.start({ task: 'notes', maxToolCalls: 2 });
      expect(await later.result()).toMatchObject({ text: 'done', counters: { toolCalls: 2 } });
      await vi.waitFor(async () => expect(await cli.openRuns(name, 'old')).toBe(1), bound);
      await release('hold, then notes');
      expect(await began.result()).toMatchObject({ text: 'done', counters: { turns: 3, toolCalls: 2 } });
      expect([await buildOf(began), await buildOf(later)]).toEqual(['old', 'new']);
      await vi.waitFor(async () => expect(await cli.openRuns(name, 'old')).toBe(0), bound);
    });
  });

  it('begins the children of a tree on the build of the tree, those spawned after a deploy too', async () => {
    await withDeployment(async ({ start, makeCurrent }) => {
      await start('old');
      await makeCurrent('old');
      const root = await stack.start({ task: 'hold root', tools: [] });
      const tree = openTree(stack.client, stack.taskQueue, root.workflowId);
      const spawn = async (task: string, parent: string): Promise<WorkflowHandle> => {
        const input = { task, tools: [], caller: 'tests' };
        const [spawned] = await tree.spawnAll([{ parent, input }]);
        expect(spawned?.answer).toEqual({ kind: 'started' });
        return find(spawned?.handle ?? '');
      };
      const early = await spawn('hold early', root.workflowId);
      await isHeld('hold early');
      await start('new');
      await makeCurrent('new');
      const late = await spawn('hold late', early.workflowId);
      const plain = await stack.start({ task: 'plain', tools: [] });
      for (const task of ['hold late', 'hold early', 'hold root']) await release(task);
      for (const run of [root, early, late, plain])
        expect(await run.result()).toMatchObject({ text: 'done' });
      expect(await buildOf(find(tree.id))).toBe('old');
      expect([await buildOf(early), await buildOf(late), await buildOf(plain)]).toEqual([
        'old',
        'old',
        'new',
      ]);
    });
  });

  it('hands a run to the current build when the run continues as new', async () => {
    await withDeployment(async ({ start, makeCurrent }) => {
      await start('old');
      await makeCurrent('old');
      const run = await stack.start({ task: 'hold, then many notes', maxToolCalls: 12 });
      const { runId: first } = await run.describe();
      await isHeld('hold, then many notes');
      await start('new');
      await makeCurrent('new');
      await release('hold, then many notes');
      expect(await run.result()).toMatchObject({ text: 'done', counters: { turns: 13, toolCalls: 12 } });
      const last = find(run.workflowId);
      expect((await last.describe()).runId).not.toBe(first);
      expect([await buildOf(find(run.workflowId, first)), await buildOf(last)]).toEqual(['old', 'new']);
      expect(stack.tools.calls().tools['add_note']?.started).toBe(12);
    });
  });
});

describe('an operator', () => {
  it('makes a build current with fermata’s own command, and sees how each build stands', async () => {
    await withDeployment(async ({ name, start }) => {
      const environment = { TEMPORAL_ADDRESS: server.address, FERMATA_TASK_QUEUE: stack.taskQueue };
      const versions = async (...words: readonly string[]): Promise<Ended> =>
        await runInProcess(['versions', '--deployment', name, ...words], { environment });
      const refused = await versions('--set-current', 'old');
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/build old of test-\S+ cannot be made current: .*start its workers/);
      await start('old');
      await vi.waitFor(async () => expect((await versions('--set-current', 'old')).code).toBe(0), bound);
      const run = await stack.start({ task: 'hold, and stay', tools: [] });
      await isHeld('hold, and stay');
      await start('new');
      await vi.waitFor(async () => expect((await versions('--set-current', 'new')).code).toBe(0), bound);
      await vi.waitFor(async () => {
        const { builds } = JSON.parse((await versions()).stdout);
        expect(builds).toHaveLength(2);
        expect(builds).toEqual(
          expect.arrayContaining([
            { version: { name, buildId: 'old' }, status: 'draining', openRuns: 1, hasWorkers: true },
            { version: { name, buildId: 'new' }, status: 'current', openRuns: 0, hasWorkers: true },
          ]),
        );
      }, bound);
      await release('hold, and stay');
      expect(await run.result()).toMatchObject({ text: 'done' });
    });
  });

  it('brings in versions under way: unversioned runs go on on the first current build', async () => {
    await withDeployment(async ({ start, makeCurrent }) => {
      const unversioned = await stack.newWorker();
      const run = await stack.start({ task: 'hold, then notes', maxToolCalls: 1 });
      await isHeld('hold, then notes');
      await start('old');
      await makeCurrent('old');
      waiting.clear();
      await unversioned.close();
      await release('hold, then notes');
      expect(await run.result()).toMatchObject({ text: 'done', counters: { turns: 2, toolCalls: 1 } });
      expect(await buildOf(run)).toBe('old');
    });
  });

  it('moves a run off a build whose workers are gone, when the other build can replay it', async () => {
    await withDeployment(async ({ name, start, makeCurrent }) => {
      const gone = await start('old');
      await makeCurrent('old');
      const run = await stack.start({ task: 'hold, then notes', maxToolCalls: 1 });
      await isHeld('hold, then notes');
      waiting.clear();
      await gone.close();
      await start('new', inject('workflowBundlePath'));
      await makeCurrent('new');
      // Nobody may take it: the attempt that was handed on waits for a worker of its build.
      const later = await stack.start({ task: 'later', tools: [] });
      expect(await later.result()).toMatchObject({ text: 'done' });
      expect([...waiting.keys()]).toEqual([]);
      expect((await run.describe()).status.name).toBe('RUNNING');
      expect(await doctorSays(name, 0)).toEqual(['ok']);
      // Once Temporal has not heard of any worker for a while.
      await vi.waitFor(
        async () =>
          expect(await doctorSays(name, 600_000)).toContain(`fault 1 open run is pinned to build old`),
        bound,
      );
      await cli.moveRun(run.workflowId, name, 'new');
      await release('hold, then notes');
      expect(await run.result()).toMatchObject({ text: 'done', counters: { turns: 2, toolCalls: 1 } });
      expect(await buildOf(run)).toBe('new');
    });
  });
});
