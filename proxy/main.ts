/** Starts the proxy as a process of its own. */
import pino from 'pino';
import { createAccess, requireServiceToken } from '../auth/access.ts';
import { logSerializers } from '../auth/log-serializers.ts';
import { parseSettings, SettingsFault } from '../contracts/settings.ts';
import { openTelemetry } from '../telemetry/open-telemetry.ts';
import { createProxy } from './create-proxy.ts';

async function main(): Promise<void> {
  const settings = parseSettings(process.env);
  requireServiceToken(settings);
  const logger = pino({ level: settings.logLevel, name: 'proxy', serializers: logSerializers });
  const access = await createAccess(settings, { logger });
  const telemetry = await openTelemetry(process.env, 'fermata-proxy', { logger });
  const proxy = await createProxy(
    {
      host: settings.host,
      port: settings.ports.proxy,
      schedulerUrl:
        settings.schedulerUrls.length > 0
          ? settings.schedulerUrls
          : `http://127.0.0.1:${settings.ports.scheduler}`,
      redisUrl: settings.redisUrl,
      limits: { drainMs: settings.drainMs },
    },
    { logger, environment: process.env, access, telemetry },
  );
  console.log(`fermata proxy is ready at ${proxy.url}`);
  let stopping = false;
  const stop = (): void => {
    // Whoever asks twice does not want to wait for streams.
    if (stopping) {
      proxy.cut();
      return;
    }
    stopping = true;
    access.close();
    const close = async (): Promise<void> => {
      await proxy.close();
      await telemetry?.close();
    };
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'the proxy did not stop in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGHUP', () => void access.reload());
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}

main().catch((error: unknown) => {
  const reason = error instanceof SettingsFault || error instanceof Error ? error.message : String(error);
  console.error(reason);
  process.exit(1);
});
