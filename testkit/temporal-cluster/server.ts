/**
 * Temporal's full server, its four services in one process, on a PostgreSQL of ours. It makes its databases at
 * its first start and finds them at the next, so that it can be killed and started again at the same place. It
 * has no namespace but Temporal's own: making one is the business of whoever uses it.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterPrograms } from './cluster-programs.ts';
import { findFreePorts } from './free-ports.ts';
import type { Postgres } from './postgres.ts';
import { startProgram, type Program } from './program.ts';
import { createDatabases, databasesOf } from './schema.ts';
import {
  dynamicConfigFile,
  restPorts,
  serverConfig,
  type ServerPorts,
  type ServerTls,
} from './server-config.ts';

export interface ClusterServerOptions {
  readonly programs: Pick<ClusterPrograms, 'server' | 'sqlTool'>;
  readonly postgres: Pick<Postgres, 'host' | 'port' | 'user' | 'password'>;
  /** Of its databases: letters, digits and `_`. */
  readonly name: string;
  /** For its configuration and its log; made when it is missing. */
  readonly folder: string;
  /** Settings of Temporal's dynamic configuration, by name: JSON values. None: a cluster's own defaults. */
  readonly dynamicConfig?: Readonly<Record<string, string>>;
  /** Mutual TLS at the frontend; absent or null: it speaks plain. */
  readonly tls?: ServerTls | null;
  /** Those of the server that ran before on these databases; absent: new databases and any free ports. */
  readonly ports?: ServerPorts;
}

export interface ClusterServer {
  /** host:port of the gRPC frontend. */
  readonly address: string;
  readonly ports: ServerPorts;
  readonly pid: number;
  readonly logPath: string;
  /** Resolves when the process has ended, however it came to it. */
  readonly exited: Promise<void>;
  close(): Promise<void>;
}

const host = '127.0.0.1';
const startLimitMs = 120_000;

/** @throws Error with the server's own words when it does not come up. */
export async function startClusterServer(options: ClusterServerOptions): Promise<ClusterServer> {
  const { programs, postgres, folder } = options;
  const databases = databasesOf(options.name);
  await mkdir(folder, { recursive: true });
  if (options.ports === undefined) await createDatabases(programs.sqlTool, postgres, databases);
  const ports = options.ports ?? (await choosePorts());
  const paths = {
    config: join(folder, `${options.name}.json`),
    dynamicConfig: join(folder, `${options.name}-dynamic.json`),
    log: join(folder, `${options.name}.log`),
  };
  const { host: databaseHost, port, user, password } = postgres;
  const config = serverConfig({
    host,
    ports,
    database: { host: databaseHost, port, user, password, ...databases },
    tls: options.tls ?? null,
    dynamicConfigPath: paths.dynamicConfig,
  });
  await writeFile(paths.config, JSON.stringify(config), { mode: 0o600 });
  await writeFile(paths.dynamicConfig, JSON.stringify(dynamicConfigFile(options.dynamicConfig ?? {})));
  const program = await startProgram({
    command: programs.server,
    args: ['--config-file', paths.config, '--allow-no-auth', 'start'],
    environment: { PATH: '/usr/bin:/bin', GOMEMLIMIT: '1GiB' },
    logPath: paths.log,
    stopSignal: 'SIGTERM',
  });
  try {
    await waitUntilListening(program, ports.frontend);
  } catch (error) {
    await program.close();
    throw error;
  }
  const { pid, exited } = program;
  const address = `${host}:${ports.frontend}`;
  return { address, ports, pid, logPath: paths.log, exited, close: async () => await program.close() };
}

async function choosePorts(): Promise<ServerPorts> {
  const [frontend = 0, ...rest] = await findFreePorts(host, 1 + restPorts);
  return { frontend, rest };
}

/** The frontend listens once the services have found each other. */
async function waitUntilListening(program: Program, port: number): Promise<void> {
  const deadline = Date.now() + startLimitMs;
  while (!(await isListening(port))) {
    if (!program.isRunning()) {
      throw new Error(`Temporal's server stopped at its start: ${program.lastLine().slice(0, 500)}`);
    }
    if (Date.now() > deadline) {
      throw new Error(
        `Temporal's server did not listen within ${startLimitMs / 1_000} s: ${program.lastLine().slice(0, 500)}`,
      );
    }
    await delay(100);
  }
}

async function isListening(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
