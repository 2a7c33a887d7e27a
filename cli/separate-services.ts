/** fermata's four services, each as a process of its own, as in a deployment (`--separate`). */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { withServiceToken } from '../auth/access.ts';
import { closeInReverse, type Closable } from './close-in-reverse.ts';
import { startChild, type RunningChild } from './child-process.ts';
import type { RunningServices, ServicesOptions } from './embedded-services.ts';
import { nodeFlags } from './node-flags.ts';

/** Beyond the time that turns in flight get. */
const stopMarginMs = 10_000;

const root = resolve(import.meta.dirname, '..');

export async function startServiceProcesses(options: ServicesOptions): Promise<RunningServices> {
  const { settings, temporal, stateDir } = options;
  const configPath = await configPathOf(options);
  const { token } = withServiceToken(settings);
  const environment = {
    ...options.environment,
    ...(token === null ? {} : { FERMATA_TOKEN: token }),
    ...(settings.tokensFile === null ? {} : { FERMATA_TOKENS_FILE: settings.tokensFile }),
    FERMATA_CONFIG: configPath,
    FERMATA_STATE_DIR: stateDir,
    FERMATA_HOST: settings.host,
    FERMATA_LOG_LEVEL: settings.logLevel,
    FERMATA_TASK_QUEUE: settings.taskQueue,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
  };
  const children: RunningChild[] = [];
  const running: Closable[] = [];
  const start = async (name: string, entry: string, extra: Record<string, string>): Promise<string> => {
    const child = await startChild({
      name,
      command: process.execPath,
      // No turn passes through the MCP server, and many waits at once should cost it little memory.
      args: [...(name === 'mcp-server' ? [] : nodeFlags), '--import', 'tsx', join(root, entry)],
      environment: { ...environment, ...extra },
      logPath: join(stateDir, 'logs', `${name}.log`),
      ready: /ready\b.*?(https?:\/\/\S+)/,
      stopTimeoutMs: settings.drainMs + stopMarginMs,
    });
    children.push(child);
    running.push(child);
    return (child.readyMatch[1] ?? '').replace(/[/,;.]+$/, '');
  };
  const close = async (): Promise<void> => await closeInReverse(running);
  try {
    const ports = settings.ports;
    const schedulerUrl = await start('scheduler', 'scheduler/host/main.ts', {
      FERMATA_SCHEDULER_PORT: String(ports.scheduler),
    });
    const proxyUrl = await start('proxy', 'proxy/main.ts', {
      FERMATA_PROXY_PORT: String(ports.proxy),
      FERMATA_SCHEDULER_URL: schedulerUrl,
    });
    const workerUrl = await start('worker', 'activities/main.ts', {
      FERMATA_WORKER_PORT: String(ports.worker),
      FERMATA_PROXY_URL: proxyUrl,
    });
    const mcpServerUrl = await start('mcp-server', 'mcp-server/main.ts', {
      FERMATA_MCP_PORT: String(ports.mcp),
      FERMATA_TEMPORAL_UI_URL: options.temporalUiUrl ?? '',
      FERMATA_PROXY_URL: proxyUrl,
      FERMATA_SCHEDULER_URL: schedulerUrl,
    });
    const reload = (): void => {
      for (const child of children) child.signal('SIGHUP');
    };
    return { schedulerUrl, proxyUrl, workerUrl, mcpServerUrl, children, reload, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The user's own file, which each service reads and watches by itself, or one made of the built-in pool. */
async function configPathOf({ live, stateDir }: ServicesOptions): Promise<string> {
  const { source } = live.status();
  if (source !== null) return resolve(source);
  const path = join(stateDir, 'effective-config.yaml');
  // JSON is YAML.
  await writeFile(path, JSON.stringify(live.current(), null, 2));
  return path;
}
