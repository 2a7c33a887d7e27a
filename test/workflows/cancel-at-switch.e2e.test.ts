/** A cancel that comes in the very workflow task in which a run would go on in a new execution. */
import { NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { createActivities } from '../../activities/create-activities.ts';
import { installTemporalRuntime } from '../../activities/temporal-logger.ts';
import { runMemoKey, runMemoSchema } from '../../contracts/run.ts';
import type { OwnTemporal } from '../own-temporal.ts';
import { startShortHistoryServer } from '../short-history-server.ts';
import { startRunStack, type RunStack } from './run-stack.ts';

let server: OwnTemporal;
let stack: RunStack;

beforeAll(async () => {
  server = await startShortHistoryServer();
  stack = await startRunStack({
    temporalAddress: server.address,
    workflowBundlePath: inject('workflowBundlePath'),
    script: (request) =>
      request.call([
        ...Array.from({ length: 8 }, () => ({ name: 'kit__add_note', arguments: { text: 'n' } })),
        { name: 'kit__wait', arguments: { milliseconds: 500 } },
      ]),
    startWorker: false,
  });
});
afterAll(async () => {
  await stack?.close();
  await server?.close();
});

it('a cancel wins over the switch: the run ends with its reason', async () => {
  const { taskQueue, workerConfig, client } = stack;
  const logger = pino({ level: 'silent' });
  installTemporalRuntime(logger);
  const connection = await NativeConnection.connect({ address: server.address });
  const common = { connection, taskQueue, namespace: 'default' };
  const made = createActivities({
    proxyUrl: workerConfig.proxyUrl,
    token: null,
    toolServers: workerConfig.toolServers,
    temporal: client,
    logger,
  });
  const activityWorker = await Worker.create({ ...common, activities: made.activities });
  const workflowWorker = async (): Promise<Worker> =>
    await Worker.create({
      ...common,
      workflowBundle: { codePath: inject('workflowBundlePath') },
      // Local activities run where the workflow does; all others are the other worker's.
      activities: made.activities,
      enableNonLocalActivities: false,
      stickyQueueScheduleToStartTimeout: '1 second',
    });
  const first = await workflowWorker();
  const running = [activityWorker.run(), first.run()];

  const handle = await stack.start({ task: 'wait', maxToolCalls: 100 });
  await stack.tools.waitFor((calls) => calls.tools['wait']?.started === 1, 60_000);
  first.shutdown();
  await running[1];
  await client.workflowService.requestCancelWorkflowExecution({
    namespace: 'default',
    requestId: 'one',
    workflowExecution: { workflowId: handle.workflowId },
    reason: 'enough',
  });
  // Cancel and result wait together for the one task that will see both.
  await vi.waitFor(
    async () => {
      const { events } = await handle.fetchHistory();
      expect(events?.at(-1)?.activityTaskCompletedEventAttributes).toBeTruthy();
      expect(events?.length).toBeGreaterThan(50);
    },
    { timeout: 30_000, interval: 100 },
  );
  const second = await workflowWorker();
  running.push(second.run());
  await expect(handle.result()).rejects.toThrow(/cancel/i);
  const { status, memo } = await client.workflow.getHandle(handle.workflowId).describe();
  expect(status.name).toBe('CANCELLED');
  expect(runMemoSchema.parse(memo?.[runMemoKey])).toMatchObject({
    status: 'Cancelled',
    reason: 'enough',
    counters: { turns: 1, toolCalls: 9 },
  });
  expect(stack.model.requests).toHaveLength(1);
  second.shutdown();
  activityWorker.shutdown();
  await Promise.all(running);
  await made.close();
  await connection.close();
});
