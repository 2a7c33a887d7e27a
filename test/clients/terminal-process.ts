/**
 * Runs a program at a terminal to its end, never longer than its bound, and presses keys when its screen
 * says what they wait for. Nothing of it stays behind. The terminal is that of `script` (util-linux) with the
 * screen of terminal-screen.ts.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { killGroup } from './bounded-process.ts';
import type { BoundedOptions, Ended } from './bounded-process.ts';
import { columns, rows, TerminalScreen } from './terminal-screen.ts';

export interface KeyStep {
  /** @param shown what is on the screen now, without blanks: programs move the cursor instead. */
  readonly when: (shown: string) => boolean;
  readonly keys: string;
  /** Milliseconds between the text and the keys: a dialog may not take keys at once. Default 300. */
  readonly afterMs?: number;
}

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export interface TerminalOptions extends BoundedOptions {
  /** Told the lines of the screen after each change. */
  readonly looked?: (lines: readonly string[]) => void;
}

/**
 * `stdout` is every line that was ever on the screen, once each.
 * @throws the spawn error when there is no `script`; the signal's reason when that has aborted before.
 */
export async function runInTerminal(
  program: string,
  args: readonly string[],
  steps: readonly KeyStep[],
  options: TerminalOptions,
): Promise<Ended> {
  options.signal.throwIfAborted();
  const folder = await mkdtemp(join(options.env['TMPDIR'] ?? '/tmp', 'terminal-'));
  const pidPath = join(folder, 'pid');
  const command = `echo $$ > ${quote(pidPath)}; stty rows ${rows} cols ${columns}; exec ${[program, ...args].map(quote).join(' ')}`;
  const startedAt = performance.now();
  const mark = `FERMATA_TERMINAL=${randomUUID()}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: options.cwd,
    env: { ...options.env, TERM: 'xterm-256color', SHELL: '/bin/sh', ...marked(mark) },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const kill = async (): Promise<void> => {
    // The program leads a session of its own, which the group of `script` does not hold.
    const pid = Number(await readFile(pidPath, 'utf8').catch(() => ''));
    if (pid > 0) killGroup(pid);
    if (child.pid !== undefined) killGroup(child.pid);
    // A daemon has left every group; it still carries the environment that it was started with.
    for (const one of await pidsWith(mark)) killProcess(one);
  };
  const screen = new TerminalScreen((answer) => child.stdin.write(answer), options.looked);
  const keyboard = pressKeys(child.stdin, steps, screen);
  let stderr = '';
  let drawn = Promise.resolve();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    drawn = screen.write(text);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-(options.outputLimit ?? 400_000));
  });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    void kill();
  }, options.timeoutMs);
  const stop = (): void => void kill();
  options.signal.addEventListener('abort', stop);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', stop);
      child.once('close', resolve);
    });
    await drawn;
    return { code, timedOut, stdout: screen.everything, stderr, wallMs: performance.now() - startedAt };
  } finally {
    clearTimeout(timer);
    keyboard.stop();
    screen.close();
    options.signal.removeEventListener('abort', stop);
    await kill();
    await rm(folder, { recursive: true, force: true });
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // ESRCH: it has ended meanwhile.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function marked(mark: string): Record<string, string> {
  const [name = '', value = ''] = mark.split('=');
  return { [name]: value };
}

/** Processes of this user that were started with the mark in their environment; none where there is no `/proc`. */
async function pidsWith(mark: string): Promise<number[]> {
  const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
      return environment.split('\0').includes(mark) ? [Number(name)] : [];
    }),
  );
  return found.flat();
}

const lookMs = 100;

interface Keyboard {
  stop(): void;
}

function pressKeys(
  stdin: NodeJS.WritableStream,
  steps: readonly KeyStep[],
  screen: TerminalScreen,
): Keyboard {
  const left = [...steps];
  let pressing: NodeJS.Timeout | null = null;
  // A program that has ended takes no keys any more.
  stdin.on('error', () => undefined);
  // What a step waits for need not be on the screen, so the screen's changes alone would not do.
  const timer = setInterval(() => {
    const [step] = left;
    if (pressing !== null || step === undefined || !step.when(screen.text)) return;
    left.shift();
    pressing = setTimeout(() => {
      pressing = null;
      stdin.write(step.keys);
    }, step.afterMs ?? 300);
  }, lookMs);
  return {
    stop() {
      clearInterval(timer);
      if (pressing !== null) clearTimeout(pressing);
    },
  };
}
