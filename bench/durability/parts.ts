/**
 * fermata's parts, each a process of its own that can be killed and started again at the same place: the same
 * port, the same state. Temporal keeps its database file; the others keep nothing.
 */
import { join, resolve } from 'node:path';
import { startChild } from '../../cli/child-process.ts';
import { startTemporalServer } from '../../cli/temporal-server.ts';
import type { PartName } from './kill-plan.ts';
import { endWithThisProcess } from '../site/end-with-this-process.ts';

export interface Part {
  readonly name: PartName;
  /** Ready to be killed. */
  up(): boolean;
  start(): Promise<void>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** Stops it in order. */
  close(): Promise<void>;
}

export interface PartsOptions {
  readonly stateDir: string;
  readonly configPath: string;
  readonly temporalBinary: string;
  readonly ports: Readonly<Record<PartName, number>>;
  readonly taskQueue: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

interface Running {
  readonly pid: number;
  readonly exited: Promise<void>;
  close(): Promise<void>;
}

const host = '127.0.0.1';
const root = resolve(import.meta.dirname, '..', '..');

/** None of them started; in the order in which they start. */
export function createParts(options: PartsOptions): readonly Part[] {
  const { ports, stateDir } = options;
  const environment = {
    ...withoutOurs(options.environment),
    FERMATA_CONFIG: options.configPath,
    FERMATA_STATE_DIR: stateDir,
    FERMATA_HOST: host,
    FERMATA_LOG_LEVEL: 'warn',
    FERMATA_TASK_QUEUE: options.taskQueue,
    FERMATA_SCHEDULER_PORT: String(ports.scheduler),
    FERMATA_PROXY_PORT: String(ports.proxy),
    FERMATA_WORKER_PORT: String(ports.worker),
    FERMATA_MCP_PORT: String(ports['mcp-server']),
    FERMATA_SCHEDULER_URL: `http://${host}:${ports.scheduler}`,
    FERMATA_PROXY_URL: `http://${host}:${ports.proxy}`,
    TEMPORAL_ADDRESS: `${host}:${ports.temporal}`,
    TEMPORAL_NAMESPACE: 'default',
  };
  const service = (name: PartName, entry: string): Part =>
    createPart(
      name,
      async () =>
        await startChild({
          name,
          command: process.execPath,
          args: ['--import', 'tsx', join(root, entry)],
          environment,
          logPath: join(stateDir, 'logs', `${name}.log`),
          ready: /\bready\b/,
        }),
    );
  const temporal = createPart(
    'temporal',
    async () =>
      await startTemporalServer({
        binary: options.temporalBinary,
        host,
        port: ports.temporal,
        uiPort: null,
        databaseFile: join(stateDir, 'temporal.db'),
      }),
  );
  return [
    temporal,
    service('scheduler', 'scheduler/host/main.ts'),
    service('proxy', 'proxy/main.ts'),
    service('worker', 'activities/main.ts'),
    service('mcp-server', 'mcp-server/main.ts'),
  ];
}

/** Settings of whoever runs the bench are none of its own. */
function withoutOurs(environment: PartsOptions['environment']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => !name.startsWith('FERMATA_') && !name.startsWith('TEMPORAL_'),
    ),
  );
}

function createPart(name: PartName, launch: () => Promise<Running>): Part {
  let running: Running | null = null;
  return {
    name,
    up: () => running !== null,
    async start() {
      const started = await launch();
      endWithThisProcess(started);
      running = started;
    },
    async kill() {
      const doomed = running;
      if (doomed === null) throw new Error(`${name} does not run`);
      running = null;
      process.kill(doomed.pid, 'SIGKILL');
      await doomed.exited;
    },
    async close() {
      const leaving = running;
      running = null;
      await leaving?.close();
    },
  };
}
