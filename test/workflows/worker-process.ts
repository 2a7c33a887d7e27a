/** A worker in a process of its own, for tests that kill it. */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { WorkerConfig } from '../../activities/create-worker.ts';

export interface WorkerProcess {
  /** kill -9. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

const root = resolve(import.meta.dirname, '..', '..');

export async function startWorkerProcess(config: WorkerConfig): Promise<WorkerProcess> {
  const main = join(import.meta.dirname, 'worker-main.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', main, JSON.stringify(config)], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolveExit) => child.once('exit', (code) => resolveExit(code)));
  let errors = '';
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString('utf8')));
  await new Promise<void>((ready, reject) => {
    child.stdout.once('data', () => ready());
    void exited.then((code) => reject(new Error(`the worker ended with ${String(code)}: ${errors}`)));
  });
  return {
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    async stop() {
      child.kill('SIGTERM');
      return await exited;
    },
  };
}
