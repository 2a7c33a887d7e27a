/**
 * A long-lived child process of the embedded stack: started, watched until it says that it is ready,
 * stopped with SIGTERM and, past a limit, SIGKILL. Its stderr goes to a log file.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { SetupFault } from './setup/setup-fault.ts';

export interface ChildSpec {
  /** As it is named to the user. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logPath: string;
  /** Recognises the ready line of its stdout. */
  readonly ready: RegExp;
  /** Milliseconds to stop in order before it is killed; absent: 15,000. */
  readonly stopTimeoutMs?: number;
  /** Told of it before it is ready: of whoever must end it if this process ends meanwhile. */
  readonly onSpawn?: (child: Pick<RunningChild, 'pid' | 'exited'>) => void;
}

export interface RunningChild {
  readonly name: string;
  readonly pid: number;
  /** What `ready` matched. */
  readonly readyMatch: RegExpMatchArray;
  readonly exited: Promise<void>;
  /** null: it runs still, or a signal ended it. */
  exitCode(): number | null;
  /** Does nothing to one that has ended. */
  signal(name: NodeJS.Signals): void;
  close(): Promise<void>;
}

const readyTimeoutMs = 60_000;
const defaultStopTimeoutMs = 15_000;

/** @throws SetupFault when it ends or stays silent before it is ready. */
export async function startChild(spec: ChildSpec): Promise<RunningChild> {
  const log = openSync(spec.logPath, 'a');
  const child = spawn(spec.command, spec.args, {
    stdio: ['pipe', 'pipe', log],
    env: { ...spec.environment },
    // Ctrl-C in a terminal must reach the parent alone, which stops its children in order.
    detached: true,
  });
  closeSync(log);
  const exited = once(child, 'exit').then(
    () => undefined,
    () => undefined,
  );
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), spec.stopTimeoutMs ?? defaultStopTimeoutMs);
      await exited;
      clearTimeout(timer);
    }
  };
  if (child.pid !== undefined) spec.onSpawn?.({ pid: child.pid, exited });
  try {
    const readyMatch = await waitForReady(child, spec);
    if (child.pid === undefined) throw new SetupFault(`${spec.name} has no process id`);
    const signal = (name: NodeJS.Signals): void => void child.kill(name);
    const exitCode = (): number | null => child.exitCode;
    return { name: spec.name, pid: child.pid, readyMatch, exited, exitCode, signal, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function waitForReady(child: ChildProcess, spec: ChildSpec): Promise<RegExpMatchArray> {
  return await new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      clearTimeout(timer);
      reject(new SetupFault(`${spec.name} ${why}; see ${spec.logPath}`));
    };
    const timer = setTimeout(() => fail(`was not ready within ${readyTimeoutMs / 1_000} s`), readyTimeoutMs);
    child.once('error', (error) => fail(`could not be started: ${error.message}`));
    const failOnExit = (code: number | null, signal: string | null): void =>
      fail(`stopped at its start (${signal ?? `exit code ${code}`})`);
    child.once('exit', failOnExit);
    if (child.stdout === null) return fail('has no output');
    // Reading goes on after the ready line, or a chatty child would block on a full pipe.
    createInterface({ input: child.stdout }).on('line', (line) => {
      const match = spec.ready.exec(line);
      if (match === null) return;
      clearTimeout(timer);
      child.off('exit', failOnExit);
      resolve(match);
    });
  });
}
