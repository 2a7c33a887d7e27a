/** Entry point of the scheduler as a process of its own. Logs go to stderr, the ready line to stdout. */
import { pino } from 'pino';
import { createAccess, requireServiceToken } from '../../auth/access.ts';
import { logSerializers } from '../../auth/log-serializers.ts';
import { defaultConfigPath } from '../../config/config-path.ts';
import { openConfig } from '../../config/live-config.ts';
import { parseSettings } from '../../contracts/settings.ts';
import { createScheduler } from './create-scheduler.ts';
import { openLease } from './lease/open-lease.ts';

async function main(): Promise<void> {
  const settings = parseSettings(process.env);
  requireServiceToken(settings);
  const logger = pino(
    { name: 'scheduler', level: settings.logLevel, serializers: logSerializers },
    pino.destination(2),
  );
  const live = await openConfig(settings.configPath ?? defaultConfigPath, { logger });
  const config = live.current();
  const { pool, policy, callers } = config;
  const access = await createAccess(settings, { logger });
  const { schedulerLease } = settings;
  const lease = schedulerLease === null ? null : await openLease(schedulerLease, process.env);
  const scheduler = await createScheduler(
    { host: settings.host, port: settings.ports.scheduler, pool, policy, callers },
    { logger, environment: process.env, access, lease, configStatus: () => live.status() },
  );
  live.follow(config, (changed) => scheduler.reconfigure(changed));
  process.stdout.write(`fermata scheduler is ready at ${scheduler.url}\n`);
  const stop = (): void => {
    access.close();
    live.close();
    scheduler.close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'stop failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGHUP', () => {
    void access.reload();
    void live.reload();
  });
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

try {
  await main();
} catch (error) {
  const words = error instanceof Error ? error.message : String(error);
  process.stderr.write(`fermata scheduler cannot start: ${words}\n`);
  process.exit(1);
}
