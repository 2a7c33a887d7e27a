/** fermata's four services inside this process, each from its factory. */
import type { Logger } from 'pino';
import { createWorker } from '../activities/create-worker.ts';
import type { WorkflowBundle } from '../activities/kept-bundle.ts';
import { createAccess, withServiceToken } from '../auth/access.ts';
import type { ConfigFile } from '../contracts/config-file.ts';
import type { Settings } from '../contracts/settings.ts';
import { createMcpServer, type McpServerConfig } from '../mcp-server/create-mcp-server.ts';
import { createProxy } from '../proxy/create-proxy.ts';
import { createScheduler } from '../scheduler/host/create-scheduler.ts';
import { closeInReverse, type Closable } from './close-in-reverse.ts';
import type { TemporalTarget } from './temporal-target.ts';

export interface ServicesOptions {
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stateDir: string;
  readonly temporal: TemporalTarget;
  readonly config: ConfigFile;
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
  close(): Promise<void>;
}

export async function startServices(options: ServicesOptions): Promise<RunningServices> {
  const { settings, config, environment, temporal } = options;
  const { host, ports, taskQueue } = settings;
  const logger = (service: string): Logger => options.logger.child({ service });
  const running: Closable[] = [];
  const close = async (): Promise<void> => await closeInReverse(running);
  const keep = <T extends Closable>(service: T): T => {
    running.push(service);
    return service;
  };
  try {
    const access = await createAccess(withServiceToken(settings), { logger: logger('auth') });
    keep({ close: async () => access.close() });
    const scheduler = keep(
      await createScheduler(
        { host, port: ports.scheduler, pool: config.pool, policy: config.policy, callers: config.callers },
        { logger: logger('scheduler'), environment, access },
      ),
    );
    const proxy = keep(
      await createProxy(
        {
          host,
          port: ports.proxy,
          schedulerUrl: scheduler.url,
          openLink: scheduler.openLink,
          redisUrl: settings.redisUrl,
          limits: { drainMs: settings.drainMs },
        },
        { logger: logger('proxy'), environment, access },
      ),
    );
    const toolServers = config.tools.mcpServers;
    const worker = keep(
      await createWorker(
        {
          host,
          port: ports.worker,
          temporal,
          taskQueue,
          proxyUrl: proxy.url,
          token: access.serviceToken,
          toolServers,
          workflowBundle: options.workflowBundle,
        },
        { logger: logger('worker') },
      ),
    );
    const mcpServer = keep(
      await createMcpServer(mcpServerConfig(options, { proxyUrl: proxy.url, schedulerUrl: scheduler.url }), {
        logger: logger('mcp-server'),
        access,
      }),
    );
    return {
      schedulerUrl: scheduler.url,
      proxyUrl: proxy.url,
      workerUrl: worker.url,
      mcpServerUrl: mcpServer.url,
      children: [],
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

function mcpServerConfig(
  { settings, temporal }: ServicesOptions,
  urls: Pick<McpServerConfig, 'proxyUrl' | 'schedulerUrl'>,
): McpServerConfig {
  const { host, ports, taskQueue, maxRunning } = settings;
  return { host, port: ports.mcp, temporal, taskQueue, maxRunning, ...urls };
}
