/** Bundles the workflows for a worker's sandbox: once for a release or a test run, not once a worker. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { Logger as TemporalLogger } from '@temporalio/worker';

const workflowsFolder = resolve(import.meta.dirname, '..', 'workflows');

/**
 * @param folder of the workflows; default: fermata's own.
 * @returns the bundle's JavaScript. Takes some seconds.
 */
export async function makeWorkflowBundle(
  logger?: TemporalLogger,
  folder: string = workflowsFolder,
): Promise<{ readonly code: string }> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: resolve(folder, 'index.ts'),
    workflowInterceptorModules: ['cancel-reason.ts', 'send-cancel-reason.ts', 'end-as-cancelled.ts'].map(
      (file) => resolve(folder, file),
    ),
    logger: logger ?? silentLogger,
  });
  return { code };
}

/** Writes the bundle to `targetPath`, for `workflowBundle: {codePath}` of a worker. */
export async function bundleWorkflows(targetPath: string): Promise<void> {
  const { code } = await makeWorkflowBundle();
  await mkdir(dirname(targetPath), { recursive: true });
  await writeFile(targetPath, code);
}

const ignore = (): void => undefined;
const silentLogger: TemporalLogger = {
  log: ignore,
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
};
