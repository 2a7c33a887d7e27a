/** fermata's four services inside this process, each from its factory. */
import type { Logger } from 'pino';
import {
  createWorker,
  type FermataWorker,
  type WorkerConfig,
  type WorkerDeps,
} from '../activities/create-worker.ts';
import type { WorkflowBundle } from '../activities/kept-bundle.ts';
import { createAccess, withServiceToken } from '../auth/access.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { ConfigFile } from '../contracts/config-file.ts';
import type { Settings } from '../contracts/settings.ts';
import { createMcpServer, type McpServerConfig } from '../mcp-server/create-mcp-server.ts';
import { ownPage } from '../mcp-server/page/own-page.ts';
import { createProxy, type ProxyConfig } from '../proxy/create-proxy.ts';
import { createScheduler, type Scheduler, type SchedulerConfig } from '../scheduler/host/create-scheduler.ts';
import { openTelemetry } from '../telemetry/open-telemetry.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { TemporalSettings } from '../temporal/temporal-settings.ts';
import { closeInReverse, type Closable } from './close-in-reverse.ts';

export interface ServicesOptions {
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stateDir: string;
  readonly temporal: TemporalSettings;
  /** Root of Temporal's own web pages; null: not known. */
  readonly temporalUiUrl: string | null;
  readonly live: LiveConfig;
  readonly workflowBundle: WorkflowBundle;
  readonly logger: Logger;
}

export interface RunningServices {
  readonly schedulerUrl: string;
  readonly proxyUrl: string;
  readonly workerUrl: string;
  readonly mcpServerUrl: string;
  /** Empty when the services run in this process. */
  readonly children: readonly {
    readonly name: string;
    readonly pid: number;
    readonly exited: Promise<void>;
  }[];
  /** Reads the files of configuration and tokens again. */
  reload(): void;
  close(): Promise<void>;
}

export async function startServices(options: ServicesOptions): Promise<RunningServices> {
  const { settings, live, environment } = options;
  const config = live.current();
  const logger = (service: string): Logger => options.logger.child({ service });
  const running: Closable[] = [];
  const close = async (): Promise<void> => await closeInReverse(running);
  const keep = <T extends Closable>(service: T): T => {
    running.push(service);
    return service;
  };
  /** What each service is given of its own. */
  const depsOf = async (service: string): Promise<{ logger: Logger; telemetry: Telemetry | null }> => {
    const own = { logger: logger(service) };
    const telemetry = await openTelemetry(environment, `fermata-${service}`, own);
    return { ...own, telemetry: telemetry === null ? null : keep(telemetry) };
  };
  try {
    const access = await createAccess(withServiceToken(settings), { logger: logger('auth') });
    keep({ close: async () => access.close() });
    const scheduler = keep(
      await createScheduler(schedulerConfig(settings, config), {
        logger: logger('scheduler'),
        environment,
        access,
        configStatus: () => live.status(),
      }),
    );
    const proxy = keep(
      await createProxy(proxyConfig(settings, scheduler), {
        ...(await depsOf('proxy')),
        environment,
        access,
      }),
    );
    const door = { proxyUrl: proxy.url, token: access.serviceToken };
    const worker = keep(await startWorker(options, door, await depsOf('worker')));
    const mcpServer = keep(
      await createMcpServer(mcpServerConfig(options, { proxyUrl: proxy.url, schedulerUrl: scheduler.url }), {
        ...(await depsOf('mcp-server')),
        access,
        page: ownPage,
        configuration: live,
      }),
    );
    live.follow(config, (changed) => {
      scheduler.reconfigure(changed);
      worker.reconfigure(changed.tools.mcpServers);
    });
    const reload = (): void => {
      void access.reload();
      void live.reload();
    };
    return {
      schedulerUrl: scheduler.url,
      proxyUrl: proxy.url,
      workerUrl: worker.url,
      mcpServerUrl: mcpServer.url,
      children: [],
      reload,
      close: async () => {
        // It takes no new turns while the parts in front of it stop; `close` awaits the end of this.
        void proxy.close().catch(() => undefined);
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function schedulerConfig({ host, ports }: Settings, { pool, policy, callers }: ConfigFile): SchedulerConfig {
  return { host, port: ports.scheduler, pool, policy, callers };
}

function proxyConfig(
  { host, ports, redisUrl, drainMs }: Settings,
  { url, openLink }: Pick<Scheduler, 'url' | 'openLink'>,
): ProxyConfig {
  return { host, port: ports.proxy, schedulerUrl: url, openLink, redisUrl, limits: { drainMs } };
}

async function startWorker(
  options: ServicesOptions,
  door: Pick<WorkerConfig, 'proxyUrl' | 'token'>,
  deps: WorkerDeps,
): Promise<FermataWorker> {
  const { live } = options;
  const toolServers = live.current().tools.mcpServers;
  const config = workerConfig(options, { ...door, toolServers });
  return await createWorker(config, { ...deps, configStatus: () => live.status() });
}

function workerConfig(
  { settings, temporal, workflowBundle }: ServicesOptions,
  rest: Pick<WorkerConfig, 'proxyUrl' | 'token' | 'toolServers'>,
): WorkerConfig {
  const { host, ports, taskQueue } = settings;
  return { host, port: ports.worker, temporal, taskQueue, workflowBundle, ...rest };
}

function mcpServerConfig(
  { settings, temporal, temporalUiUrl }: ServicesOptions,
  urls: Pick<McpServerConfig, 'proxyUrl' | 'schedulerUrl'>,
): McpServerConfig {
  const { host, ports, taskQueue, maxRunning } = settings;
  return { host, port: ports.mcp, temporal, temporalUiUrl, taskQueue, maxRunning, ...urls };
}
