/**
 * A Temporal server of a test's own, for what it kills, starts again or sets up in its own way: the embedded
 * one, and in `npm run test:cluster` a full server with databases of its own on the cluster's PostgreSQL.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { setUpTemporal } from '../cli/temporal/set-up.ts';
import { startTemporalServer } from '../cli/temporal-server.ts';
import { startClusterServer, type ClusterServer } from '../testkit/temporal-cluster/server.ts';

export interface OwnTemporal {
  /** host:port; the same after every start. */
  readonly address: string;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again on what it has kept. */
  start(): Promise<void>;
  /** Ends it and takes away what it kept. */
  close(): Promise<void>;
}

export interface OwnTemporalOptions {
  /** Settings of Temporal's dynamic configuration, by name: JSON values. */
  readonly dynamicConfig?: Readonly<Record<string, string>>;
  /** It finds after a start what it had before; else the embedded one is in memory. A cluster's always does. */
  readonly keeps?: boolean;
  /** Hours that ended runs are kept; default: as it comes. */
  readonly retentionHours?: number;
}

interface Running {
  readonly address: string;
  readonly pid: number;
  readonly exited: Promise<void>;
  close(): Promise<void>;
}

/** It has namespace `default` with fermata's search attributes. */
export async function startOwnTemporal(options: OwnTemporalOptions = {}): Promise<OwnTemporal> {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-own-temporal-'));
  const launch = inject('temporalCluster') === null ? embedded(folder, options) : onCluster(folder, options);
  let running: Running | null = null;
  try {
    running = await launch(null);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  const { address } = running;
  return {
    address,
    async kill() {
      if (running === null) throw new Error('it does not run');
      const { pid, exited } = running;
      running = null;
      process.kill(pid, 'SIGKILL');
      await exited;
    },
    async start() {
      running = await launch(Number(address.split(':')[1]));
    },
    async close() {
      await running?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts it on any free port, or again on one. */
type Launch = (port: number | null) => Promise<Running>;

function embedded(folder: string, options: OwnTemporalOptions): Launch {
  const { keeps = false, retentionHours = null, dynamicConfig = {} } = options;
  return async (port) => {
    const server = await startTemporalServer({
      binary: inject('temporalBinary'),
      host: '127.0.0.1',
      port: port ?? 0,
      uiPort: null,
      databaseFile: keeps ? join(folder, 'temporal.db') : null,
      dynamicConfig,
    });
    // It has its namespace.
    return retentionHours === null ? server : await prepared(server, retentionHours);
  };
}

function onCluster(folder: string, { dynamicConfig = {}, retentionHours }: OwnTemporalOptions): Launch {
  const name = `own_${randomBytes(6).toString('hex')}`;
  let before: ClusterServer | null = null;
  return async () => {
    const cluster = inject('temporalCluster');
    if (cluster === null) throw new Error('there is no cluster');
    const server = await startClusterServer({
      ...cluster,
      name,
      folder,
      dynamicConfig,
      ...(before === null ? {} : { ports: before.ports }),
    });
    before = server;
    return await prepared(server, retentionHours ?? null);
  };
}

/** What keeps ended runs for another time than a new namespace does is so from its creation on. */
async function prepared<Server extends Running>(
  server: Server,
  retentionHours: number | null,
): Promise<Server> {
  try {
    await setUpTemporal(
      { address: server.address, namespace: 'default' },
      { createNamespace: true, retentionHours, checkOnly: false },
    );
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}
