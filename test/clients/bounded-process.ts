/**
 * Runs a program to its end, never longer than its bound, and leaves nothing of it behind: it gets a
 * process group of its own, and the whole group is killed when the program ends, when its time is up
 * and when the signal aborts. Its standard input is empty. Does not judge how it ended.
 */
import { spawn } from 'node:child_process';

export interface BoundedOptions {
  readonly cwd: string;
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** UTF-16 units kept of each stream, the last ones. */
  readonly outputLimit?: number;
}

export interface Ended {
  /** null: killed by a signal, or never started. */
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly wallMs: number;
}

/** Kills every process of the group; none may be left. */
export function killGroup(leaderPid: number): void {
  try {
    process.kill(-leaderPid, 'SIGKILL');
  } catch (error) {
    // ESRCH: every process of the group has already ended.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/**
 * Resolves when the program has ended and its output is read.
 * @throws the spawn error when it cannot be started; the signal's reason when that has aborted before.
 */
export async function runBounded(
  program: string,
  args: readonly string[],
  options: BoundedOptions,
): Promise<Ended> {
  options.signal.throwIfAborted();
  const limit = options.outputLimit ?? 200_000;
  const startedAt = performance.now();
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kept = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      kept[name] = (kept[name] + text).slice(-limit);
    });
  }
  const kill = (): void => {
    if (child.pid !== undefined) killGroup(child.pid);
  };
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, options.timeoutMs);
  options.signal.addEventListener('abort', kill);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      // What it left running may hold its pipes open: `close` would wait for that.
      child.once('exit', kill);
      child.once('close', resolve);
    });
    return { code, timedOut, ...kept, wallMs: performance.now() - startedAt };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', kill);
  }
}
