/**
 * Long-lived processes of the bench: started with their output in files, so that nobody has to read it,
 * running until they are ready, pinned to processors, stopped in order. Linux tells of descendants,
 * processors and connections through `/proc`; elsewhere these are null.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../cli/setup/run-command.ts';
import { SetupFault } from '../../cli/setup/setup-fault.ts';
import { endWithThisProcess } from '../site/end-with-this-process.ts';

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of its log. */
  readonly workDir: string;
}

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  readonly logPath: string;
  close(): Promise<void>;
}

const stopTimeoutMs = 5_000;
const readyTimeoutMs = 90_000;
const pollMs = 100;

/** @throws SetupFault when it cannot be started; that it is ready is running by the functions below. */
export async function startProcess(spec: ProcessSpec): Promise<RunningProcess> {
  const logPath = join(spec.workDir, `${spec.name}.log`);
  const log = openSync(logPath, 'a');
  const child = spawn(spec.command, [...spec.args], {
    stdio: ['ignore', log, log],
    env: { ...spec.environment },
    cwd: spec.workDir,
  });
  closeSync(log);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) =>
      reject(new SetupFault(`${spec.name} could not be started: ${error.message}`)),
    );
  });
  if (child.pid === undefined) throw new SetupFault(`${spec.name} has no process id`);
  // A frozen one would outlive this process, since it cannot even be interrupted.
  endWithThisProcess({ pid: child.pid, exited: new Promise((gone) => child.once('exit', gone)) });
  return { name: spec.name, pid: child.pid, logPath, close: async () => await stopChild(child) };
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  // Frozen, it would not hear of it.
  child.kill('SIGCONT');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await exited;
  clearTimeout(timer);
}

/** The address in the ready line that the process writes to its log. @throws SetupFault when none comes. */
export async function readyUrl(running: RunningProcess): Promise<string> {
  return await untilReady(running, async () => {
    const line = /\bis ready at (https?:\/\/\S+)/.exec(await readFile(running.logPath, 'utf8'));
    return line?.[1] ?? null;
  });
}

/** Polls `check` until it gives something. @throws SetupFault when the process ends or the time is up. */
export async function untilReady<T>(running: RunningProcess, check: () => Promise<T | null>): Promise<T> {
  const deadlineMs = performance.now() + readyTimeoutMs;
  while (performance.now() < deadlineMs) {
    const found = await check();
    if (found !== null) return found;
    if (!isAlive(running.pid)) {
      throw new SetupFault(`${running.name} stopped at its start: ${await lastLogLine(running.logPath)}`);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, pollMs);
    });
  }
  throw new SetupFault(
    `${running.name} was not ready within ${readyTimeoutMs / 1_000} s: ${await lastLogLine(running.logPath)}`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function lastLogLine(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').at(-1)?.slice(0, 300) ?? 'it wrote nothing';
}

/** A process and all that it has started. */
export async function withDescendants(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const found = [pid];
  for (const thread of threads) {
    const children = await readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '');
    for (const child of children.split(' ').filter((text) => text.trim() !== '')) {
      found.push(...(await withDescendants(Number(child))));
    }
  }
  return found;
}

/** Stops processes and their descendants where they are; they keep connections and memory. */
export async function freeze(pids: readonly number[]): Promise<void> {
  await signalAll(pids, 'SIGSTOP');
}

/** Lets them go on. */
export async function thaw(pids: readonly number[]): Promise<void> {
  await signalAll(pids, 'SIGCONT');
}

async function signalAll(pids: readonly number[], signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  for (const pid of (await Promise.all(pids.map(withDescendants))).flat()) {
    if (isAlive(pid)) process.kill(pid, signal);
  }
}

/** Processors this process may run on; null where that cannot be told. */
export async function allowedCores(): Promise<readonly number[] | null> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => null);
  const list = status === null ? null : /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1];
  return list === null || list === undefined ? null : parseCoreList(list);
}

/** @param list such as `0-3,8`. */
export function parseCoreList(list: string): readonly number[] {
  return list.split(',').flatMap((part) => {
    const [from = Number.NaN, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

/** Pins processes, their descendants and all their threads. @throws SetupFault when `taskset` cannot. */
export async function pin(pids: readonly number[], cores: readonly number[]): Promise<void> {
  const all = (await Promise.all(pids.map(withDescendants))).flat();
  for (const pid of all) {
    const done = await runCommand('taskset', ['-a', '-c', '-p', cores.join(','), String(pid)], {
      timeoutMs: 5_000,
    });
    if (done.code !== 0) throw new SetupFault(`taskset could not pin ${pid}: ${done.output.trim()}`);
  }
}

/** Connections to a local port that its server still has open; null where it cannot be told. */
export async function connectionsTo(port: number): Promise<number | null> {
  const table = await readFile('/proc/net/tcp', 'utf8').catch(() => null);
  return table === null ? null : countConnections(table, port);
}

/** States of a connection that a server has not given up: established, and closed by the client only. */
const openStates = ['01', '08'];

/** @param table as in `/proc/net/tcp`: local address second, remote third, state fourth, in hexadecimal. */
export function countConnections(table: string, port: number): number {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return table.split('\n').filter((line) => {
    const [, local = '', , state = ''] = line.trim().split(/\s+/);
    return local.endsWith(suffix) && openStates.includes(state);
  }).length;
}
