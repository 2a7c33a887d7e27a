/**
 * A Temporal cluster on PostgreSQL to test on: both are started, and namespace `default` is prepared as an operator
 * prepares one. Run by itself it stays until Ctrl-C: `npx tsx scripts/start-cluster.ts`, then set TEMPORAL_ADDRESS
 * as it says. What it keeps goes with it.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { closeInReverse, type Closable } from '../cli/close-in-reverse.ts';
import { ensureClusterPrograms } from '../cli/setup/cluster-programs.ts';
import { SetupFault, type Progress } from '../cli/setup/setup-fault.ts';
import type { TestCluster } from '../test/test-cluster.ts';
import { startPostgres } from '../testkit/temporal-cluster/postgres.ts';
import { startClusterServer } from '../testkit/temporal-cluster/server.ts';

export interface RunningCluster {
  readonly cluster: TestCluster;
  /** For what belongs to it; gone with it. */
  readonly folder: string;
  close(): Promise<void>;
}

const root = resolve(import.meta.dirname, '..');

/**
 * @param dynamicConfig settings of Temporal's dynamic configuration, by name: JSON values; none: its defaults.
 * @throws SetupFault that says what to install.
 */
export async function startCluster(
  progress: Progress,
  dynamicConfig: Readonly<Record<string, string>> = {},
): Promise<RunningCluster> {
  const programs = await ensureClusterPrograms(join(root, '.fermata'), process.env['PATH'] ?? '', progress);
  const running: Closable[] = [];
  // Asked twice, as by a signal in the middle of an end, it still ends once everything is gone.
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    closing ??= closeInReverse(running);
    await closing;
  };
  const folder = await mkdtemp(join(tmpdir(), 'fermata-cluster-'));
  running.push({ close: async () => await rm(folder, { recursive: true, force: true }) });
  try {
    progress('starting PostgreSQL and Temporal ...');
    const postgres = await startPostgres({ programs });
    running.push(postgres);
    const { server, sqlTool } = programs;
    const temporal = await startClusterServer({
      programs: { server, sqlTool },
      postgres,
      name: 'temporal',
      folder: join(folder, 'server'),
      dynamicConfig,
    });
    running.push(temporal);
    await prepareNamespace(temporal.address);
    progress(`Temporal's server on PostgreSQL is at ${temporal.address}`);
    const { host, port, user, password } = postgres;
    const cluster: TestCluster = {
      address: temporal.address,
      programs: { server, sqlTool },
      postgres: { host, port, user, password },
    };
    return { cluster, folder, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** As an operator does it. */
async function prepareNamespace(address: string): Promise<void> {
  const command = ['bin/fermata.mjs', 'setup', 'temporal', '--create-namespace', '--no-json'];
  const child = spawn(process.execPath, command, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'default' },
  });
  const code = await new Promise<number | null>((ended) => {
    child.once('error', () => ended(null));
    child.once('close', ended);
  });
  if (code !== 0) throw new SetupFault('the namespace could not be made');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    const { cluster, close } = await startCluster((line) => void process.stderr.write(`fermata: ${line}\n`));
    process.stdout.write(`TEMPORAL_ADDRESS=${cluster.address}\n`);
    await new Promise<void>((stop) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop());
    });
    await close();
  } catch (error) {
    if (!(error instanceof SetupFault)) throw error;
    process.stderr.write(`fermata: ${error.message}\n`);
    process.exitCode = 1;
  }
}
