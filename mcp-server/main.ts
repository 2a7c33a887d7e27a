/** Entry point of the mcp-server as a process of its own. Logs go to stderr, the ready line to stdout. */
import { pino } from 'pino';
import { createAccess, requireServiceToken } from '../auth/access.ts';
import { logSerializers } from '../auth/log-serializers.ts';
import { findConfigPath } from '../config/config-path.ts';
import { openConfig } from '../config/live-config.ts';
import { parseSettings } from '../contracts/settings.ts';
import { openTelemetry } from '../telemetry/open-telemetry.ts';
import { createMcpServer } from './create-mcp-server.ts';
import { ownPage } from './page/own-page.ts';
import { readTemporalSettings } from '../temporal/temporal-settings.ts';

async function main(): Promise<void> {
  const settings = parseSettings(process.env);
  requireServiceToken(settings);
  const { host, ports, taskQueue } = settings;
  const logger = pino(
    { name: 'mcp-server', level: settings.logLevel, serializers: logSerializers },
    pino.destination(2),
  );
  const configPath = findConfigPath(settings.configPath);
  const live = configPath === null ? null : await openConfig(configPath, { logger });
  const access = await createAccess(settings, { logger });
  const telemetry = await openTelemetry(process.env, 'fermata-mcp-server', { logger });
  const server = await createMcpServer(
    {
      host,
      port: ports.mcp,
      temporal: readTemporalSettings(process.env, `127.0.0.1:${ports.temporal}`),
      taskQueue,
      maxRunning: settings.maxRunning,
      proxyUrl: settings.proxyUrls.length > 0 ? settings.proxyUrls : `http://${host}:${ports.proxy}`,
      temporalUiUrl: settings.temporalUiUrl,
      schedulerUrl:
        settings.schedulerUrls.length > 0 ? settings.schedulerUrls : `http://${host}:${ports.scheduler}`,
    },
    { logger, access, page: ownPage, configuration: live, telemetry },
  );
  process.stdout.write(`fermata mcp-server is ready at ${server.url}\n`);
  const stop = (): void => {
    access.close();
    live?.close();
    const close = async (): Promise<void> => {
      await server.close();
      await telemetry?.close();
    };
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'stop failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGHUP', () => {
    void access.reload();
    void live?.reload();
  });
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

try {
  await main();
} catch (error) {
  const words = error instanceof Error ? error.message : String(error);
  process.stderr.write(`fermata mcp-server cannot start: ${words}\n`);
  process.exit(1);
}
