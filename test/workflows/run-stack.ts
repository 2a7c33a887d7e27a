/**
 * What an end-to-end test of runs needs: a worker on a task queue of its own, a scripted model behind
 * it and the fake tool server, all against the Temporal server of the test run.
 */
import { randomBytes } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { pino } from 'pino';
import { createWorker, type FermataWorker, type WorkerConfig } from '../../activities/create-worker.ts';
import type { ToolServers } from '../../contracts/config-file.ts';
import { runMemoKey, runMemoSchema, workflowTypes, type RunMemo } from '../../contracts/run.ts';
import { startToolServer, type ToolServer } from '../../testkit/tool-server/host.ts';
import { startFakeModel, type FakeModel, type Script } from '../activities/fake-model.ts';

export interface RunStackOptions {
  readonly temporalAddress: string;
  readonly workflowBundlePath: string;
  readonly script: Script;
  /** Beside the fake tool server, which is `kit`. */
  readonly toolServers?: ToolServers;
  readonly callLogPath?: string;
  /** False: the test starts its own. */
  readonly startWorker?: boolean;
}

export interface RunStack {
  readonly client: Client;
  readonly model: FakeModel;
  readonly tools: ToolServer;
  readonly taskQueue: string;
  readonly workerConfig: WorkerConfig;
  readonly worker: FermataWorker | null;
  /** @param over replaces parts of `workerConfig`. */
  newWorker(over?: Partial<WorkerConfig>): Promise<FermataWorker>;
  start(input: Record<string, unknown>): Promise<WorkflowHandle>;
  memo(handle: WorkflowHandle): Promise<RunMemo>;
  close(): Promise<void>;
}

export const newHandle = (): string =>
  `run_${randomBytes(32)
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .slice(0, 22)}`;

export async function startRunStack(options: RunStackOptions): Promise<RunStack> {
  const taskQueue = `test-${randomBytes(6).toString('hex')}`;
  const connection = await Connection.connect({ address: options.temporalAddress });
  const client = new Client({ connection });
  const model = await startFakeModel(options.script);
  const tools = await startToolServer(
    options.callLogPath === undefined
      ? { delayScale: 0.01 }
      : { delayScale: 0.01, callLogPath: options.callLogPath },
  );
  const workers: FermataWorker[] = [];
  const workerConfig: WorkerConfig = {
    host: '127.0.0.1',
    port: 0,
    temporal: { address: options.temporalAddress, namespace: 'default' },
    taskQueue,
    proxyUrl: model.url,
    toolServers: { kit: httpServer(tools.url), ...options.toolServers },
    workflowBundle: { codePath: options.workflowBundlePath },
  };
  const newWorker = async (over: Partial<WorkerConfig> = {}): Promise<FermataWorker> => {
    const worker = await createWorker({ ...workerConfig, ...over }, { logger: pino({ level: 'silent' }) });
    workers.push(worker);
    return worker;
  };
  const worker = options.startWorker === false ? null : await newWorker();
  return {
    client,
    model,
    tools,
    taskQueue,
    workerConfig,
    worker,
    newWorker,
    start: async (input) =>
      await client.workflow.start(workflowTypes.agentRun, {
        taskQueue,
        workflowId: newHandle(),
        args: [{ caller: 'tests', ...input }],
      }),
    async memo(handle) {
      const { memo } = await handle.describe();
      return runMemoSchema.parse(memo?.[runMemoKey]);
    },
    async close() {
      await Promise.all(workers.map((one) => one.close()));
      await tools.close();
      await model.close();
      await connection.close();
    },
  };
}

export function httpServer(url: string, limits: Partial<ToolServers[string]> = {}): ToolServers[string] {
  return {
    url,
    headers: {},
    idleTimeoutMs: 60_000,
    totalTimeoutMs: 600_000,
    ...limits,
  } as ToolServers[string];
}
