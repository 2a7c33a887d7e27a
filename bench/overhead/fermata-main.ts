/**
 * Scheduler and proxy in one process, linked inside it, as `npm start` runs them, with default settings and
 * the default log. Temporal, worker and MCP server are not on the way of a request, so they are not here.
 */
import { pino } from 'pino';
import { configFileSchema } from '../../contracts/config-file.ts';
import { createProxy } from '../../proxy/create-proxy.ts';
import { createScheduler } from '../../scheduler/host/create-scheduler.ts';

/** JSON of a configuration file. */
const { pool, policy, callers } = configFileSchema.parse(JSON.parse(process.argv[2] ?? ''));
const logger = pino({ name: 'fermata' });
const environment = process.env;
const here = { host: '127.0.0.1', port: 0 };
const scheduler = await createScheduler({ ...here, pool, policy, callers }, { logger, environment });
const proxy = await createProxy(
  { ...here, schedulerUrl: scheduler.url, openLink: scheduler.openLink },
  { logger, environment },
);
process.stdout.write(`fermata is ready at ${proxy.url}\n`);
process.once('SIGTERM', () => process.exit(0));
