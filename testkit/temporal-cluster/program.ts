/** A long-lived program whose output is kept in a file: started, watched for its end, and stopped for good. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

export interface ProgramSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logPath: string;
  /** Whom it runs as; absent: whoever runs this. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** The signal that asks it to stop in order. */
  readonly stopSignal: NodeJS.Signals;
}

export interface Program {
  readonly pid: number;
  /** Resolves when the process has ended, however it came to it. */
  readonly exited: Promise<void>;
  isRunning(): boolean;
  /** The last line it wrote, for the words of a fault. */
  lastLine(): string;
  /** Stops it in order, and by force after 20 s. */
  close(): Promise<void>;
}

const stopLimitMs = 20_000;

/** @throws Error when it cannot be started. */
export async function startProgram(spec: ProgramSpec): Promise<Program> {
  const log = openSync(spec.logPath, 'a');
  const child = spawn(spec.command, spec.args, {
    stdio: ['ignore', log, log],
    env: { ...spec.environment },
    // A terminal's Ctrl-C reaches the parent alone, which stops its programs in order.
    detached: true,
    ...spec.owner,
  });
  closeSync(log);
  const exited = once(child, 'exit').then(
    () => undefined,
    () => undefined,
  );
  if (child.pid === undefined) {
    const [error] = (await once(child, 'error')) as [Error];
    throw new Error(`${spec.command} could not be started: ${error.message}`);
  }
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    pid: child.pid,
    exited,
    isRunning,
    lastLine: () => readFileSync(spec.logPath, 'utf8').trim().split('\n').at(-1) ?? '',
    async close() {
      if (!isRunning()) return;
      child.kill(spec.stopSignal);
      const timer = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
      await exited;
      clearTimeout(timer);
    },
  };
}
