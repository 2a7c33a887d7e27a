/**
 * The embedded Temporal server: one `temporal server start-dev` process on a database file, with the
 * settings that 4-runs of the design measured (write-ahead log, faster transfer queue) and fermata's
 * search attributes. Ends with `close()`; what a killed parent left behind is ended by
 * {@link stopLeftover} at the next start.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { searchAttributes } from '../contracts/run.ts';
import { findFreePort, requireFreePort } from './setup/free-port.ts';
import { runCommand } from './setup/run-command.ts';
import { SetupFault } from './setup/setup-fault.ts';

export interface TemporalServerOptions {
  readonly binary: string;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** 0: any free one; null: no web UI. */
  readonly uiPort: number | null;
  /** null: in memory. */
  readonly databaseFile: string | null;
  /** Further settings of Temporal's dynamic configuration, by name: JSON values. */
  readonly dynamicConfig?: Readonly<Record<string, string>>;
}

export interface TemporalServer {
  /** host:port of the gRPC frontend. */
  readonly address: string;
  readonly uiUrl: string | null;
  readonly pid: number;
  /** Resolves when the process has ended, however it came to it. */
  readonly exited: Promise<void>;
  close(): Promise<void>;
}

/** What each is worth is told in docs/decisions/2026-11-30-step-speed.md. */
const dynamicConfig = {
  // Its default of 20 a second keeps each dispatch waiting for some 40 ms.
  'history.transferProcessorMaxPollRPS': '2000',
  // The search attributes are given at the start and do not change: no need to read them at each use.
  'system.forceSearchAttributesCacheRefreshOnRead': 'false',
  // One worker's queue has no use for several partitions, which forward tasks to each other.
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
} as const;

/** For the runtime of Temporal's program: collect garbage less often, up to a bound; begin with larger stacks. */
const goRuntime = { GOGC: '400', GOMEMLIMIT: '512MiB', GODEBUG: 'adaptivestackstart=1' } as const;

const readyTimeoutMs = 30_000;
const stopTimeoutMs = 10_000;

/** @throws SetupFault with Temporal's own words when the server does not come up. */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  // A server of somebody else on the port would answer our readiness check in place of ours.
  await requireFreePort(options.host, options.port, 'FERMATA_TEMPORAL_PORT');
  const port = options.port === 0 ? await findFreePort(options.host) : options.port;
  const uiPort = options.uiPort === 0 ? await findFreePort(options.host) : options.uiPort;
  const pidFile = options.databaseFile === null ? null : `${options.databaseFile}.pid`;
  if (options.databaseFile !== null) await mkdir(dirname(resolve(options.databaseFile)), { recursive: true });
  const child = spawn(options.binary, serverArguments(options, port, uiPort), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...goRuntime, ...process.env },
    // A process group of its own: a terminal's Ctrl-C reaches fermata alone, which stops Temporal last.
    detached: true,
  });
  const tail = keepTail(child);
  const exited = once(child, 'exit').then(
    () => undefined,
    () => undefined,
  );
  if (child.pid === undefined) throw new SetupFault(`${options.binary} could not be started`);
  if (pidFile !== null) await writeFile(pidFile, String(child.pid));
  const address = `${options.host}:${port}`;
  const close = async (): Promise<void> => {
    await stopChild(child, exited);
    if (pidFile !== null) await rm(pidFile, { force: true });
  };
  try {
    await waitUntilServing(address, child, tail);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    address,
    uiUrl: uiPort === null ? null : `http://${options.host}:${uiPort}`,
    pid: child.pid,
    exited,
    close,
  };
}

function serverArguments(options: TemporalServerOptions, port: number, uiPort: number | null): string[] {
  return [
    'server',
    'start-dev',
    '--ip',
    options.host,
    '--port',
    String(port),
    ...(uiPort === null ? ['--headless'] : ['--ui-ip', options.host, '--ui-port', String(uiPort)]),
    ...(options.databaseFile === null ? [] : ['--db-filename', options.databaseFile]),
    '--sqlite-pragma',
    'journal_mode=WAL',
    '--sqlite-pragma',
    'synchronous=NORMAL',
    ...Object.entries({ ...dynamicConfig, ...options.dynamicConfig }).flatMap(([name, value]) => [
      '--dynamic-config-value',
      `${name}=${value}`,
    ]),
    '--log-level',
    'error',
    ...Object.values(searchAttributes).flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
  ];
}

/**
 * Ends a server that an earlier, killed fermata left running on this database file.
 * The process is only ended when its command line names that file.
 * @returns whether one was ended.
 */
export async function stopLeftover(databaseFile: string): Promise<boolean> {
  const pidFile = `${databaseFile}.pid`;
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 1) return false;
  const command = await runCommand('ps', ['-o', 'command=', '-p', String(pid)], { timeoutMs: 5_000 });
  const ours = command.code === 0 && command.output.includes(databaseFile);
  if (ours) {
    process.kill(pid, 'SIGTERM');
    const deadline = Date.now() + stopTimeoutMs;
    while (isAlive(pid)) {
      if (Date.now() > deadline) process.kill(pid, 'SIGKILL');
      await delay(50);
    }
  }
  await rm(pidFile, { force: true });
  return ours;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function keepTail(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-4_096);
  });
  return () => text.trim().split('\n').at(-1) ?? '';
}

async function waitUntilServing(address: string, child: ChildProcess, tail: () => string): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new SetupFault(`Temporal's server stopped at its start: ${tail() || 'it printed nothing'}`);
    }
    if (await answers(address)) return;
    if (Date.now() > deadline) {
      throw new SetupFault(
        `Temporal's server did not answer on ${address} within ${readyTimeoutMs / 1_000} s: ${tail()}`,
      );
    }
    await delay(50);
  }
}

async function answers(address: string): Promise<boolean> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: 1_000 });
    try {
      await connection.workflowService.describeNamespace({ namespace: 'default' });
      return true;
    } finally {
      await connection.close();
    }
  } catch {
    return false;
  }
}

async function stopChild(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await exited;
  clearTimeout(timer);
}
