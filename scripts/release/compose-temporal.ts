/**
 * Temporal as docker/compose.yaml starts it, without containers: the job's own commands make the databases with
 * Temporal's SQL tool, twice, since the job runs at every `up`; then the server starts from the environment alone,
 * as its image does. Addresses and ports are of this machine; the programs are those of `npm run test:cluster`.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { ensureClusterPrograms } from '../../cli/setup/cluster-programs.ts';
import { findFreePorts } from '../../testkit/temporal-cluster/free-ports.ts';
import { startPostgres } from '../../testkit/temporal-cluster/postgres.ts';
import { startProgram, type Program } from '../../testkit/temporal-cluster/program.ts';

const root = resolve(import.meta.dirname, '..', '..');
const host = '127.0.0.1';
const startLimitMs = 120_000;

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      entrypoint: z.array(z.string()).optional(),
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).default({}),
    }),
  ),
});

/** Ports that are the container's own there, and have to be free here. */
const portSettings = [
  'FRONTEND_GRPC_PORT',
  'FRONTEND_HTTP_PORT',
  'FRONTEND_MEMBERSHIP_PORT',
  'HISTORY_GRPC_PORT',
  'HISTORY_MEMBERSHIP_PORT',
  'MATCHING_GRPC_PORT',
  'MATCHING_MEMBERSHIP_PORT',
  'WORKER_GRPC_PORT',
  'WORKER_MEMBERSHIP_PORT',
] as const;

export interface ComposeTemporal {
  readonly address: string;
  close(): Promise<void>;
}

/** @param folder for what it writes. @throws Error with the words of what failed. */
export async function startComposeTemporal(
  folder: string,
  say: (line: string) => void,
): Promise<ComposeTemporal> {
  const programs = await ensureClusterPrograms(join(root, '.fermata'), process.env['PATH'] ?? '', say);
  const text = await readFile(join(root, 'docker', 'compose.yaml'), 'utf8');
  const { services } = composeSchema.parse(parse(text, { merge: true }));
  const { 'temporal-schema': job, temporal } = services;
  if (job === undefined || temporal === undefined) throw new Error('docker/compose.yaml has no Temporal');
  const postgres = await startPostgres({ programs, durable: false });
  let server: Program | null = null;
  const close = async (): Promise<void> => {
    await server?.close();
    await postgres.close();
  };
  try {
    const bin = join(folder, 'bin');
    await mkdir(bin, { recursive: true });
    await symlink(programs.sqlTool, join(bin, 'temporal-sql-tool'));
    const jobEnvironment = {
      ...job.environment,
      PATH: `${bin}:/usr/bin:/bin`,
      SQL_HOST: postgres.host,
      SQL_PORT: String(postgres.port),
      SQL_PASSWORD: postgres.password,
    };
    for (const turn of ['first', 'second']) {
      runJob([...(job.entrypoint ?? []), ...(job.command ?? [])], jobEnvironment);
      say(`the databases are made as compose makes them, the ${turn} time`);
    }
    const ports = await findFreePorts(host, portSettings.length);
    const path = temporal.environment['DYNAMIC_CONFIG_FILE_PATH'] ?? '';
    server = await startProgram({
      command: programs.server,
      args: ['start'],
      environment: {
        ...temporal.environment,
        PATH: '/usr/bin:/bin',
        POSTGRES_SEEDS: postgres.host,
        DB_PORT: String(postgres.port),
        POSTGRES_PWD: postgres.password,
        BIND_ON_IP: host,
        DYNAMIC_CONFIG_FILE_PATH: join(root, 'docker', 'temporal', basename(path)),
        ...Object.fromEntries(portSettings.map((name, index) => [name, String(ports[index])])),
      },
      logPath: join(folder, 'temporal.log'),
      stopSignal: 'SIGTERM',
    });
    await untilListening(server, ports[0] ?? 0);
    say('its server is up from the environment that compose gives it');
    return { address: `${host}:${ports[0]}`, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function runJob(command: readonly string[], environment: Readonly<Record<string, string>>): void {
  const [program = '', ...args] = command;
  // Compose reads `$$` as a dollar sign.
  const done = spawnSync(
    program,
    args.map((one) => one.replaceAll('$$', '$')),
    {
      encoding: 'utf8',
      env: environment,
      timeout: startLimitMs,
    },
  );
  if (done.status !== 0)
    throw new Error(`temporal-schema failed:\n${done.stdout}${done.stderr}`.slice(-2_000));
}

async function untilListening(server: Program, port: number): Promise<void> {
  const deadlineMs = Date.now() + startLimitMs;
  while (!(await isListening(port))) {
    if (!server.isRunning() || Date.now() > deadlineMs) {
      throw new Error(`Temporal does not come up: ${server.lastLine().slice(0, 1_000)}`);
    }
    await delay(100);
  }
}

async function isListening(port: number): Promise<boolean> {
  return await new Promise((settle) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      settle(true);
    });
    socket.once('error', () => settle(false));
  });
}
