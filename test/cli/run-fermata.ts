/** Runs the `fermata` command as a user's shell would, its output no terminal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly cwd?: string;
  /** For Node itself. */
  readonly nodeArguments?: readonly string[];
  /** Told what it has written to standard output so far. */
  readonly onOutput?: (stdout: string, signal: (name: NodeJS.Signals) => void) => void;
}

export const root = resolve(import.meta.dirname, '..', '..');

export async function runFermata(words: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const ours = Object.entries(process.env).filter(([name]) => !/^(FERMATA|TEMPORAL)_/.test(name));
  const child = spawn(
    process.execPath,
    [...(options.nodeArguments ?? []), join(root, 'bin', 'fermata.mjs'), ...words],
    {
      cwd: options.cwd ?? root,
      env: { ...Object.fromEntries(ours), ...options.environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  child.stdin.end(options.stdin ?? '');
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    options.onOutput?.(stdout, (name) => child.kill(name));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}
