/** Which Temporal a command means. */
import { parseSettings } from '../contracts/settings.ts';
import type { Environment } from './server/where.ts';
import { readTemporalTarget, type TemporalTarget } from './temporal-target.ts';

/** What the environment names, else the server of `npm start`. */
export function temporalOf(environment: Environment): TemporalTarget {
  const { host, ports } = parseSettings(environment);
  return readTemporalTarget(environment) ?? { address: `${host}:${ports.temporal}`, namespace: 'default' };
}
