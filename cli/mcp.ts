/**
 * `fermata mcp`: the MCP server on stdin and stdout, for clients that start their servers themselves.
 * Runs live in Temporal and go on when this process ends. Logs go to stderr.
 */
import { destination, pino } from 'pino';
import { requireServiceToken } from '../auth/access.ts';
import { logSerializers } from '../auth/log-serializers.ts';
import { parseSettings } from '../contracts/settings.ts';
import { serveStdio } from '../mcp-server/stdio.ts';
import { readTemporalSettings } from '../temporal/temporal-settings.ts';
import { openTelemetry } from '../telemetry/open-telemetry.ts';
import { openConfigFile } from './read-config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** @returns 0 when the client has closed its end or a signal asked for the end. */
export async function mcp(forms: 'on' | 'off', environment: Environment): Promise<0> {
  const settings = parseSettings(environment);
  requireServiceToken(settings);
  const { host, ports, taskQueue, proxyUrls, logLevel, token } = settings;
  const logger = pino({ level: logLevel, serializers: logSerializers }, destination(2));
  // For the limits of callers.
  const live = await openConfigFile(settings.configPath, logger);
  const telemetry = await openTelemetry(environment, 'fermata-mcp-server', { logger });
  const server = serveStdio(
    {
      temporal: readTemporalSettings(environment, `${host}:${ports.temporal}`),
      taskQueue,
      maxRunning: settings.maxRunning,
      callers: () => live?.current().callers ?? {},
      proxyUrl: proxyUrls.length > 0 ? proxyUrls : `http://${host}:${ports.proxy}`,
      token,
      telemetry,
    },
    { logger, forms },
  );
  const signalled = new Promise<void>((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
  await Promise.race([server.closed, signalled]);
  live?.close();
  await server.close();
  await telemetry?.close();
  return 0;
}
