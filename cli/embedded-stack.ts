/**
 * Composition root of the embedded stack: Temporal (unless a cluster is given), the pool (simulated,
 * SmolLM2 on llama.cpp, or as configured), and fermata's four services, in this order; stopped in the
 * reverse one. Used by `fermata up`, the demo, tests and benchmarks. Handles no signals, prints nothing.
 */
import { join } from 'node:path';
import type { Logger } from 'pino';
import { keptBundle, type WorkflowBundle } from '../activities/kept-bundle.ts';
import { fixedConfig, type LiveConfig } from '../config/live-config.ts';
import type { ConfigFile } from '../contracts/config-file.ts';
import type { Settings } from '../contracts/settings.ts';
import type { TemporalSettings } from '../temporal/temporal-settings.ts';
import { closeInReverse, type Closable } from './close-in-reverse.ts';
import { startPool, type RunningPool } from './embedded-pool.ts';
import type { EngineChoice } from './engine-choices.ts';
import { startServices, type RunningServices } from './embedded-services.ts';
import { startServiceProcesses } from './separate-services.ts';
import { requireFreePort } from './setup/free-port.ts';
import type { Progress } from './setup/setup-fault.ts';
import { ensureTemporalBinary } from './setup/temporal-binary.ts';
import { makeStateDir } from './state-dir.ts';
import { startTemporalServer, stopLeftover } from './temporal-server.ts';

export interface StackOptions {
  readonly settings: Settings;
  /** Where fetched programs are kept; absent: the state directory. */
  readonly toolsDir?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Used instead of a server of our own. */
  readonly temporal: TemporalSettings | null;
  /** null: the built-in pool of `engine`. */
  readonly config: ConfigFile | null;
  /** The same, kept up to date with its file; absent: it never changes. Its owner closes it. */
  readonly live?: LiveConfig;
  readonly engine: EngineChoice;
  /** Each service in a process of its own. */
  readonly separate: boolean;
  /** Bundle of the workflows, made before; absent: the worker makes it, which takes some 2 s. */
  readonly workflowBundle?: WorkflowBundle;
  readonly logger: Logger;
  readonly progress: Progress;
}

export interface Stack {
  readonly proxyUrl: string;
  readonly mcpUrl: string;
  /** The web page. */
  readonly pageUrl: string;
  readonly schedulerUrl: string;
  readonly workerUrl: string;
  readonly temporal: TemporalSettings;
  readonly temporalUiUrl: string | null;
  readonly taskQueue: string;
  /** Of the built-in tool server; null when the configuration names its own. */
  readonly toolServerUrl: string | null;
  /** Engines of the built-in pool. */
  readonly engineUrls: readonly string[];
  /** Every child process by name. */
  readonly pids: Readonly<Record<string, number>>;
  /** Resolves with the name of the first child that ended by itself. */
  readonly childEnded: Promise<string>;
  /** Reads the files of configuration and tokens again. */
  reload(): void;
  close(): Promise<void>;
}

/** @throws SetupFault with one readable line when a part cannot be had or started; then nothing is left running. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const running: Closable[] = [];
  const closeAll = async (): Promise<void> => await closeInReverse(running);
  try {
    return await startParts(options, running, closeAll);
  } catch (error) {
    await closeAll();
    throw error;
  }
}

async function startParts(
  options: StackOptions,
  running: Closable[],
  closeAll: () => Promise<void>,
): Promise<Stack> {
  const stateDir = makeStateDir(options.settings.stateDir);
  await requirePorts(options.settings);
  const keep = <T extends Closable>(part: T): T => {
    running.push(part);
    return part;
  };
  // Settled, not all: what has started beside a failed part must be kept in order to be closed.
  const [temporal, pool, workflowBundle] = await Promise.allSettled([
    startTemporal(options, stateDir).then(keep),
    startPool({ ...options, stateDir }).then(keep),
    bundleOnce(options, stateDir),
  ]);
  if (temporal.status === 'rejected') throw temporal.reason;
  if (pool.status === 'rejected') throw pool.reason;
  if (workflowBundle.status === 'rejected') throw workflowBundle.reason;
  const start = options.separate ? startServiceProcesses : startServices;
  const services = keep(
    await start({
      ...options,
      stateDir,
      temporal: temporal.value.target,
      temporalUiUrl: temporal.value.uiUrl,
      live: options.live ?? fixedConfig(pool.value.config),
      workflowBundle: workflowBundle.value,
    }),
  );
  return describeStack(options, temporal.value, pool.value, services, closeAll);
}

function describeStack(
  options: StackOptions,
  temporal: RunningTemporal,
  pool: RunningPool,
  services: RunningServices,
  close: () => Promise<void>,
): Stack {
  const children = [...temporal.children, ...pool.children, ...services.children];
  return {
    proxyUrl: services.proxyUrl,
    mcpUrl: `${services.mcpServerUrl}/mcp`,
    pageUrl: `${services.mcpServerUrl}/`,
    schedulerUrl: services.schedulerUrl,
    workerUrl: services.workerUrl,
    temporal: temporal.target,
    temporalUiUrl: temporal.uiUrl,
    taskQueue: options.settings.taskQueue,
    toolServerUrl: pool.toolServerUrl,
    engineUrls: pool.engineUrls,
    pids: Object.fromEntries(children.map((child) => [child.name, child.pid])),
    childEnded: Promise.race([
      new Promise<never>(() => {}),
      ...children.map(async (child) => await child.exited.then(() => child.name)),
    ]),
    reload: () => services.reload(),
    close,
  };
}

interface RunningTemporal extends Closable {
  readonly target: TemporalSettings;
  readonly uiUrl: string | null;
  readonly children: readonly {
    readonly name: string;
    readonly pid: number;
    readonly exited: Promise<void>;
  }[];
}

async function startTemporal(options: StackOptions, stateDir: string): Promise<RunningTemporal> {
  if (options.temporal !== null) {
    const { temporalUiUrl: uiUrl } = options.settings;
    return { target: options.temporal, uiUrl, children: [], close: async () => {} };
  }
  const { settings, progress } = options;
  const databaseFile = join(stateDir, 'temporal.db');
  if (await stopLeftover(databaseFile))
    progress('stopped the Temporal server that an earlier start left running');
  await requireFreePort(settings.host, settings.ports.temporalUi, 'FERMATA_TEMPORAL_UI_PORT');
  const binary = await ensureTemporalBinary(
    options.toolsDir ?? stateDir,
    options.environment['PATH'] ?? '',
    progress,
  );
  progress('starting Temporal ...');
  const server = await startTemporalServer({
    binary,
    host: settings.host,
    port: settings.ports.temporal,
    uiPort: settings.ports.temporalUi,
    databaseFile,
  });
  return {
    target: { address: server.address, namespace: 'default' },
    uiUrl: server.uiUrl,
    children: [{ name: 'temporal', pid: server.pid, exited: server.exited }],
    close: async () => await server.close(),
  };
}

/**
 * Made before the services start: bundling keeps the event loop for seconds, and the scheduler's probes
 * in the same process would take that for silent engines. A worker process finds it there, too.
 */
async function bundleOnce(options: StackOptions, stateDir: string): Promise<WorkflowBundle> {
  return options.workflowBundle ?? (await keptBundle(stateDir));
}

async function requirePorts({ host, ports }: Settings): Promise<void> {
  await requireFreePort(host, ports.proxy, 'FERMATA_PROXY_PORT');
  await requireFreePort(host, ports.mcp, 'FERMATA_MCP_PORT');
  await requireFreePort(host, ports.scheduler, 'FERMATA_SCHEDULER_PORT');
  await requireFreePort(host, ports.worker, 'FERMATA_WORKER_PORT');
}
