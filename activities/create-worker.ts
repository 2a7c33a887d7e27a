/**
 * The worker service: a Temporal worker that runs fermata's workflows and activities, kept running, and
 * its small HTTP server. Asked to stop it hands its activities on and takes no new ones; it ends no run.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Addresses } from '../contracts/addresses.ts';
import type { ToolServers } from '../contracts/config-file.ts';
import type { ConfigStatus } from '../contracts/config-status.ts';
import type { DeploymentVersion } from '../contracts/settings.ts';
import { makeWorkflowBundle } from './bundle-workflows.ts';
import type { TemporalSettings } from '../temporal/temporal-settings.ts';
import { connectTemporal, temporalTrouble } from './connect-temporal.ts';
import { createActivities, type Activities } from './create-activities.ts';
import { startHealthServer, type HealthServer } from './health-server.ts';
import type { WorkflowBundle } from './kept-bundle.ts';
import { addLiveRoute } from './live-route.ts';
import { metricsText } from '../telemetry/metrics-text.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { runLogLines } from './run-log-lines.ts';
import { installTemporalRuntime, temporalLogger } from './temporal-logger.ts';
import type { WorkerTracing } from './tracing/trace-worker.ts';
import { workerIdentity } from './worker-identity.ts';
import { createWorkerMetrics, type WorkerMetrics } from './worker-metrics.ts';

export interface WorkerConfig {
  readonly host: string;
  /** Of the HTTP server; 0: any free one. */
  readonly port: number;
  readonly temporal: TemporalSettings;
  readonly taskQueue: string;
  /** Absent or null: unversioned, for every run that is pinned to no version. See docs/deploys.md. */
  readonly deployment?: DeploymentVersion | null;
  /** Root of the proxy, without `/v1`, or of several that will do. */
  readonly proxyUrl: Addresses;
  /** What the services send to each other; null or absent: nothing. */
  readonly token?: string | null;
  readonly toolServers: ToolServers;
  /** Absent: the workflows are bundled at start, which takes some seconds. */
  readonly workflowBundle?: WorkflowBundle;
  /** Activities that run at once, so turns and tool calls; default 500: they wait, they do not compute. */
  readonly activitySlots?: number;
}

const defaultActivitySlots = 500;

export interface WorkerDeps {
  readonly logger: Logger;
  /** What is told of the configuration; absent: nothing. */
  readonly configStatus?: () => ConfigStatus;
  /** Where runs are traced; its owner closes it after the worker. null or absent: nowhere. */
  readonly telemetry?: Telemetry | null;
}

export interface FermataWorker {
  readonly url: string;
  readonly port: number;
  /** Puts other tool servers in force; calls in flight end on those they were sent to. */
  reconfigure(toolServers: ToolServers): void;
  close(): Promise<void>;
}

/** Longest wait before a worker that broke is made anew. */
const longestRestartMs = 10_000;

/** @throws Error with one readable line when Temporal or the port cannot be had. */
export async function createWorker(config: WorkerConfig, deps: WorkerDeps): Promise<FermataWorker> {
  const { logger, configStatus } = deps;
  installTemporalRuntime(logger);
  const workflowBundle = config.workflowBundle ?? (await makeWorkflowBundle(temporalLogger(logger)));
  const connection = await connectTemporal(config.temporal, { logger });
  const metrics = createWorkerMetrics(
    () => (configStatus?.().fault ?? null) !== null,
    config.activitySlots ?? defaultActivitySlots,
  );
  const client = new Client({ connection, namespace: config.temporal.namespace });
  const activities = createActivities({
    proxyUrl: config.proxyUrl,
    token: config.token ?? null,
    toolServers: config.toolServers,
    temporal: client,
    logger,
  });
  const tracing = await startTracing(deps, client);
  let supervisor: Supervisor | null = null;
  let health: HealthServer | null = null;
  const stop = async (): Promise<void> => {
    await supervisor?.stop();
    await activities.close();
    await tracing?.close();
    await connection.close();
    await health?.close();
  };
  try {
    // Before the worker, which tells in Temporal where it is.
    health = await startHealthServer({
      host: config.host,
      port: config.port,
      metrics: {
        contentType: metrics.registry.contentType,
        text: async () => await metricsText(metrics.registry, deps.telemetry ?? null),
      },
      configStatus,
      notReady: async () =>
        supervisor === null ? 'starting' : (supervisor.notReady() ?? (await temporalTrouble(connection))),
      addRoutes: (app) => addLiveRoute(app, activities.live, config.token ?? null),
    });
    const identity = workerIdentity(config.host, health.port);
    const parts = { connection, activities, metrics, tracing, workflowBundle, identity };
    const make = async (): Promise<Worker> => await Worker.create(workerOptions(config, parts));
    supervisor = superviseWorker(await make(), make, metrics, logger);
    let closing: Promise<void> | null = null;
    return {
      url: health.url,
      port: health.port,
      reconfigure: (toolServers) => activities.reconfigure(toolServers),
      async close() {
        closing ??= stop();
        await closing;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Loaded only where it is asked for. */
async function startTracing(
  { telemetry, logger }: WorkerDeps,
  client: Client,
): Promise<WorkerTracing | null> {
  if (telemetry === undefined || telemetry === null) return null;
  const { traceWorker } = await import('./tracing/trace-worker.ts');
  return traceWorker(telemetry, client, logger);
}

interface WorkerParts {
  readonly connection: NativeConnection;
  readonly activities: Activities;
  readonly metrics: WorkerMetrics;
  readonly tracing: WorkerTracing | null;
  readonly workflowBundle: NonNullable<WorkerOptions['workflowBundle']>;
  readonly identity: string;
}

function workerOptions(config: WorkerConfig, parts: WorkerParts): WorkerOptions {
  return {
    connection: parts.connection,
    identity: parts.identity,
    namespace: config.temporal.namespace,
    taskQueue: config.taskQueue,
    ...versioning(config.deployment ?? null),
    workflowBundle: parts.workflowBundle,
    activities: parts.activities.activities,
    interceptors: {
      activity: [
        parts.metrics.interceptor,
        runLogLines,
        ...(parts.tracing === null ? [] : [parts.tracing.interceptor]),
      ],
    },
    maxConcurrentActivityTaskExecutions: config.activitySlots ?? defaultActivitySlots,
    // A cancel reaches an activity with its next heartbeat; throttled ones would wait for it.
    maxHeartbeatThrottleInterval: '2 seconds',
    // After a worker was killed its runs do not wait longer than this for another one.
    stickyQueueScheduleToStartTimeout: '2 seconds',
    // Activities hear of the stop at once and decide themselves: see heartbeat.ts.
    shutdownGraceTime: 0,
    shutdownForceTime: '40 seconds',
  };
}

/** A run stays with the build that began it, and moves to the current one when it continues as new. */
function versioning(
  deployment: DeploymentVersion | null,
): Pick<WorkerOptions, 'workerDeploymentOptions'> | Record<string, never> {
  if (deployment === null) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName: deployment.name, buildId: deployment.buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'PINNED',
    },
  };
}

interface Supervisor {
  readonly notReady: () => string | null;
  stop(): Promise<void>;
}

/** Keeps a worker running: one that breaks is made anew, however often, until it is stopped. */
function superviseWorker(
  first: Worker,
  make: () => Promise<Worker>,
  metrics: WorkerMetrics,
  logger: Logger,
): Supervisor {
  const stopping = new AbortController();
  let current: Worker | null = first;
  let trouble: string | null = null;
  const run = async (): Promise<void> => {
    let waitMs = 1_000;
    while (!stopping.signal.aborted) {
      try {
        current ??= await make();
        metrics.setPolling(true);
        trouble = null;
        const startedMs = performance.now();
        await current.run();
        if (performance.now() - startedMs > longestRestartMs) waitMs = 1_000;
      } catch (error) {
        trouble = error instanceof Error ? error.message : String(error);
        logger.error({ error: trouble, waitMs }, 'the worker broke and is started again');
        await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined);
        waitMs = Math.min(waitMs * 2, longestRestartMs);
      } finally {
        metrics.setPolling(false);
        current = null;
      }
    }
  };
  const done = run();
  return {
    notReady() {
      if (stopping.signal.aborted) return 'stopping';
      return current?.getState() === 'RUNNING' ? null : (trouble ?? 'starting');
    },
    async stop() {
      stopping.abort();
      if (current?.getState() === 'RUNNING') current.shutdown();
      await done;
    },
  };
}
