/**
 * Runs a program at a terminal to its end, never longer than its bound, and presses keys when its screen
 * says what they wait for. Nothing of it stays behind. The terminal is that of `script` (util-linux), 200
 * columns by 50 rows; it answers the questions that programs ask a terminal at their start.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { killGroup } from './bounded-process.ts';
import type { BoundedOptions, Ended } from './bounded-process.ts';

export interface KeyStep {
  /** @param shown since the keys of the step before, without blanks: programs move the cursor instead. */
  readonly when: (shown: string) => boolean;
  readonly keys: string;
  /** Milliseconds between the text and the keys: a dialog may not take keys at once. Default 300. */
  readonly afterMs?: number;
}

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** What a terminal answers by itself: where the cursor is, and what kind it is. */
const answers: readonly [string, string][] = [
  ['\u001B[6n', '\u001B[1;1R'],
  ['\u001B[c', '\u001B[?62;22c'],
];

/** @throws the spawn error when there is no `script`; the signal's reason when that has aborted before. */
export async function runInTerminal(
  program: string,
  args: readonly string[],
  steps: readonly KeyStep[],
  options: BoundedOptions,
): Promise<Ended> {
  options.signal.throwIfAborted();
  const folder = await mkdtemp(join(options.env['TMPDIR'] ?? '/tmp', 'terminal-'));
  const pidPath = join(folder, 'pid');
  const command = `echo $$ > ${quote(pidPath)}; stty rows 50 cols 200; exec ${[program, ...args].map(quote).join(' ')}`;
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
  const keyboard = pressKeys(child.stdin, steps);
  const kept = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      kept[name] = (kept[name] + text).slice(-(options.outputLimit ?? 400_000));
      if (name === 'stdout') keyboard.see(text);
    });
  }
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
    const stdout = stripVTControlCharacters(kept.stdout);
    return { code, timedOut, stdout, stderr: kept.stderr, wallMs: performance.now() - startedAt };
  } finally {
    clearTimeout(timer);
    keyboard.stop();
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

/** What a screen says, to be compared: blanks and colours left out. */
export function withoutBlanks(shown: string): string {
  return stripVTControlCharacters(shown).replaceAll(/\s+/g, '');
}

const lookMs = 100;

interface Keyboard {
  see(text: string): void;
  stop(): void;
}

function pressKeys(stdin: NodeJS.WritableStream, steps: readonly KeyStep[]): Keyboard {
  const left = [...steps];
  let shown = '';
  let pressing: NodeJS.Timeout | null = null;
  // A program that has ended takes no keys any more.
  stdin.on('error', () => undefined);
  // What a step waits for need not be on the screen.
  const timer = setInterval(() => look(), lookMs);
  const look = (): void => {
    const [step] = left;
    if (pressing !== null || step === undefined) return;
    if (!step.when(withoutBlanks(shown))) return;
    left.shift();
    pressing = setTimeout(() => {
      pressing = null;
      shown = '';
      stdin.write(step.keys);
    }, step.afterMs ?? 300);
  };
  return {
    see(text) {
      for (const [asked, answer] of answers) if (text.includes(asked)) stdin.write(answer);
      shown = (shown + text).slice(-100_000);
      look();
    },
    stop() {
      clearInterval(timer);
      if (pressing !== null) clearTimeout(pressing);
    },
  };
}
