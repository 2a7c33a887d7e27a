/** Which Temporal a command means. */
import { parseSettings } from '../contracts/settings.ts';
import { readTemporalSettings, type TemporalSettings } from '../temporal/temporal-settings.ts';
import type { Environment } from './server/where.ts';

/** What the environment names, else the server of `npm start`. */
export function temporalOf(environment: Environment): TemporalSettings {
  const { host, ports } = parseSettings(environment);
  return readTemporalSettings(environment, `${host}:${ports.temporal}`);
}
