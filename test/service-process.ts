/** A service as a process of its own, from its entry point, for tests that signal or kill it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

export interface ServiceProcess {
  readonly url: string;
  readonly pid: number;
  /** Resolves with its exit code, or null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Everything it has written to stderr. */
  readonly stderr: () => string;
  signal(name: NodeJS.Signals): void;
  /** Kills it and resolves when it is gone. */
  kill(): Promise<void>;
}

/**
 * @param entry below the root, such as `proxy/main.ts`.
 * @returns once its ready line has come. @throws with its stderr when it ends before that.
 */
export async function startService(
  entry: string,
  environment: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', resolve(root, entry)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', FERMATA_LOG_LEVEL: 'warn', ...environment },
  });
  const { stdout, stderr, pid } = child;
  if (stdout === null || stderr === null || pid === undefined) throw new Error(`${entry} cannot be started`);
  let errors = '';
  stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString('utf8');
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const url = await new Promise<string>((resolveUrl, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const found = /ready\b.*?(https?:\/\/\S+)/.exec(line)?.[1];
      if (found !== undefined) resolveUrl(found);
    });
    void exited.then((code) => reject(new Error(`${entry} ended with ${code}: ${errors}`)));
  });
  return {
    url,
    pid,
    exited,
    stderr: () => errors,
    signal: (name) => {
      child.kill(name);
    },
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
    },
  };
}
