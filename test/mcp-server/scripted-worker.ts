/** A worker of the scripted workflows on a task queue of its own. */
import { randomUUID } from 'node:crypto';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';

export interface ScriptedWorker {
  readonly taskQueue: string;
  close(): Promise<void>;
}

/** @param taskQueue default: one that nobody else has. */
export async function startScriptedWorker(
  address: string,
  taskQueue: string = `scripted-${randomUUID()}`,
): Promise<ScriptedWorker> {
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowsPath: new URL('scripted/workflows.ts', import.meta.url).pathname,
  });
  const running = worker.run();
  return {
    taskQueue,
    async close() {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}

/** Temporal's own log lines do not belong in a test's output. */
export function quietTemporal(): void {
  Runtime.install({ logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} } });
}
