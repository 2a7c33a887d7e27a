/** Starts the proxy as a process of its own. */
import pino from 'pino';
import { parseSettings, SettingsFault } from '../contracts/settings.ts';
import { createProxy } from './create-proxy.ts';

async function main(): Promise<void> {
  const settings = parseSettings(process.env);
  const logger = pino({ level: settings.logLevel, name: 'proxy' });
  const proxy = await createProxy(
    {
      host: settings.host,
      port: settings.ports.proxy,
      schedulerUrl: settings.schedulerUrl ?? `http://127.0.0.1:${settings.ports.scheduler}`,
      redisUrl: settings.redisUrl,
    },
    { logger, environment: process.env },
  );
  console.log(`fermata proxy is ready at ${proxy.url}`);
  const stop = (): void => {
    proxy.close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'the proxy did not stop in order');
        process.exit(1);
      },
    );
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

main().catch((error: unknown) => {
  const reason = error instanceof SettingsFault || error instanceof Error ? error.message : String(error);
  console.error(reason);
  process.exit(1);
});
