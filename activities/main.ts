/** Entry point of the worker process: settings from the environment, one ready line, a stop in order. */
import { pino } from 'pino';
import { requireServiceToken } from '../auth/access.ts';
import { logSerializers } from '../auth/log-serializers.ts';
import { findConfigPath } from '../config/config-path.ts';
import { openConfig, type LiveConfig } from '../config/live-config.ts';
import { parseSettings } from '../contracts/settings.ts';
import { readTemporalSettings } from '../temporal/temporal-settings.ts';
import { openTelemetry } from '../telemetry/open-telemetry.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { FermataWorker } from './create-worker.ts';

async function main(): Promise<void> {
  const settings = parseSettings(process.env);
  requireServiceToken(settings);
  const logger = pino(
    { level: settings.logLevel, name: 'worker', serializers: logSerializers },
    pino.destination(2),
  );
  const configPath = findConfigPath(settings.configPath);
  // Without a file there are no tool servers.
  const live = configPath === null ? null : await openConfig(configPath, { logger });
  const config = live?.current() ?? null;
  const temporal = readTemporalSettings(process.env, `127.0.0.1:${settings.ports.temporal}`);
  const telemetry = await openTelemetry(process.env, 'fermata-worker', { logger });
  // Loading Temporal's SDK takes seconds: a wrong setting is told before.
  const { createWorker } = await import('./create-worker.ts');
  const { keptBundle } = await import('./kept-bundle.ts');
  const { temporalLogger } = await import('./temporal-logger.ts');
  const worker = await createWorker(
    {
      host: settings.host,
      port: settings.ports.worker,
      temporal,
      taskQueue: settings.taskQueue,
      deployment: settings.deployment,
      proxyUrl:
        settings.proxyUrls.length > 0 ? settings.proxyUrls : `http://127.0.0.1:${settings.ports.proxy}`,
      token: settings.token,
      toolServers: config?.tools.mcpServers ?? {},
      workflowBundle: await keptBundle(settings.stateDir, { logger: temporalLogger(logger) }),
    },
    { logger, telemetry, ...(live === null ? {} : { configStatus: () => live.status() }) },
  );
  if (live !== null && config !== null) {
    live.follow(config, ({ tools }) => worker.reconfigure(tools.mcpServers));
  }
  handleSignals(worker, live, telemetry);
  console.log(`fermata worker is ready at ${worker.url}`);
}

function handleSignals(worker: FermataWorker, live: LiveConfig | null, telemetry: Telemetry | null): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    live?.close();
    const close = async (): Promise<void> => {
      await worker.close();
      await telemetry?.close();
    };
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error instanceof Error ? error.message : error);
        process.exit(1);
      },
    );
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  // It must not end of it, whether it has a file or not.
  process.on('SIGHUP', () => void live?.reload());
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
