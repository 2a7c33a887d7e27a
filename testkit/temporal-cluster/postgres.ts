/**
 * A PostgreSQL of its own: a fresh data folder, a random password, a free port of the loopback interface, no
 * sockets in the file system. PostgreSQL refuses to run as root, so root starts it as another user.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ClusterPrograms } from './cluster-programs.ts';
import { findFreePorts } from './free-ports.ts';
import { startProgram, type Program } from './program.ts';

const runFile = promisify(execFile);

export interface PostgresOptions {
  readonly programs: Pick<ClusterPrograms, 'postgres' | 'initdb'>;
  /** false: what is written is not waited for on the disk, as a test that never pulls a plug may; default true. */
  readonly durable?: boolean;
}

export interface Postgres {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly pid: number;
  readonly exited: Promise<void>;
  /** Ends it and takes its data away. */
  close(): Promise<void>;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const host = '127.0.0.1';
const user = 'temporal';
const initLimitMs = 60_000;
const startLimitMs = 30_000;
/** Temporal's four services hold some 40 each way. */
const maxConnections = 300;

/** @throws Error with PostgreSQL's own words when it does not come up. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const owner = await unprivilegedOwner();
  // Not below a folder of ours, which its owner could not enter.
  const folder = await mkdtemp(join(tmpdir(), 'fermata-postgres-'));
  const remove = async (): Promise<void> => await rm(folder, { recursive: true, force: true });
  try {
    if (owner !== undefined) await chown(folder, owner.uid, owner.gid);
    const { close, ...started } = await startIn(folder, owner, options);
    return {
      ...started,
      async close() {
        await close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function startIn(
  folder: string,
  owner: Owner | undefined,
  { programs, durable = true }: PostgresOptions,
): Promise<Postgres> {
  const dataDir = join(folder, 'data');
  const password = randomBytes(18).toString('base64url');
  await initialise({ programs, folder, dataDir, password, owner });
  const [port = 0] = await findFreePorts(host, 1);
  const settings = {
    listen_addresses: host,
    port,
    unix_socket_directories: '',
    max_connections: maxConnections,
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  const program = await startProgram({
    command: programs.postgres,
    args: ['-D', dataDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    environment: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
    logPath: join(folder, 'postgres.log'),
    owner,
    // Its fast stop: connections are cut, what is written stays.
    stopSignal: 'SIGINT',
  });
  try {
    await waitUntilReady(program, dataDir);
  } catch (error) {
    await program.close();
    throw error;
  }
  const { pid, exited } = program;
  return { host, port, user, password, pid, exited, close: async () => await program.close() };
}

/** undefined: whoever runs this may own it. */
async function unprivilegedOwner(): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(
        ['-u', '-g'].map(async (flag) => Number((await runFile('id', [flag, name])).stdout)),
      );
      if (uid !== undefined && gid !== undefined && uid > 0) return { uid, gid };
    } catch {
      // There is no such user: try the next.
    }
  }
  throw new Error(
    "PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody' to run it as; run this as another user",
  );
}

async function initialise(of: {
  readonly programs: PostgresOptions['programs'];
  readonly folder: string;
  readonly dataDir: string;
  readonly password: string;
  readonly owner: Owner | undefined;
}): Promise<void> {
  const passwordFile = join(of.folder, 'password');
  await writeFile(passwordFile, `${of.password}\n`, { mode: 0o600 });
  if (of.owner !== undefined) await chown(passwordFile, of.owner.uid, of.owner.gid);
  try {
    await runFile(
      of.programs.initdb,
      [
        `--pgdata=${of.dataDir}`,
        `--username=${user}`,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
        '--no-sync',
      ],
      { timeout: initLimitMs, env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' }, ...of.owner },
    );
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new Error(`PostgreSQL's data folder could not be made: ${stderr.trim() || String(error)}`, {
      cause: error,
    });
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/** Its process id file ends with the word when connections are taken. */
async function waitUntilReady(program: Program, dataDir: string): Promise<void> {
  const deadline = Date.now() + startLimitMs;
  for (;;) {
    const state = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '');
    if (/^ready\s*$/m.test(state)) return;
    if (!program.isRunning()) throw new Error(`PostgreSQL stopped at its start: ${program.lastLine()}`);
    if (Date.now() > deadline) {
      throw new Error(`PostgreSQL was not ready within ${startLimitMs / 1_000} s: ${program.lastLine()}`);
    }
    await delay(50);
  }
}
