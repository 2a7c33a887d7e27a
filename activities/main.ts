/** Entry point of the worker process: settings from the environment, one ready line, a stop in order. */
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { pino } from 'pino';
import { requireServiceToken } from '../auth/access.ts';
import { logSerializers } from '../auth/log-serializers.ts';
import { parseSettings, type Settings } from '../contracts/settings.ts';
import type { TemporalTarget } from './connect-temporal.ts';
import type { FermataWorker } from './create-worker.ts';
import { readToolServers } from './read-config.ts';

async function main(): Promise<void> {
  const settings = parseSettings(process.env);
  requireServiceToken(settings);
  const toolServers = readToolServers(settings.configPath);
  const temporal = temporalTarget(settings);
  // Loading Temporal's SDK takes seconds: a wrong setting is told before.
  const { createWorker } = await import('./create-worker.ts');
  const { keptBundle } = await import('./kept-bundle.ts');
  const { temporalLogger } = await import('./temporal-logger.ts');
  const logger = pino(
    { level: settings.logLevel, name: 'worker', serializers: logSerializers },
    pino.destination(2),
  );
  const worker = await createWorker(
    {
      host: settings.host,
      port: settings.ports.worker,
      temporal,
      taskQueue: settings.taskQueue,
      deployment: settings.deployment,
      proxyUrl: settings.proxyUrl ?? `http://127.0.0.1:${settings.ports.proxy}`,
      token: settings.token,
      toolServers,
      workflowBundle: await keptBundle(settings.stateDir, { logger: temporalLogger(logger) }),
    },
    { logger },
  );
  stopOnSignal(worker);
  console.log(`fermata worker is ready at ${worker.url}`);
}

/** Temporal's own settings (`TEMPORAL_*`); without an address the local server is meant. */
function temporalTarget(settings: Settings): TemporalTarget {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const { apiKey, tls } = connectionOptions;
  return {
    address: connectionOptions.address ?? `127.0.0.1:${settings.ports.temporal}`,
    namespace: namespace ?? 'default',
    ...(typeof apiKey === 'string' ? { apiKey } : {}),
    ...(tls === undefined || tls === null ? {} : { tls }),
  };
}

function stopOnSignal(worker: FermataWorker): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    worker.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error instanceof Error ? error.message : error);
        process.exit(1);
      },
    );
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  // The other services read their tokens again on it; this one has none, and must not end of it.
  process.on('SIGHUP', () => {});
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
