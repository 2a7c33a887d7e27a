/** How many turns at once the pool allows on a replica, whatever its engine says: `maxConcurrent` and `limit`. */
import { placesOf } from './latency-limit.ts';
import type { Replica } from './state.ts';

/** Places assumed for a replica of which no limit is known, so that counts compare between replicas. */
export const assumedPlaces = 64;

/** Infinity: not limited. */
export function configuredPlaces({ config, latency }: Replica): number {
  const most = config.maxConcurrent ?? Number.POSITIVE_INFINITY;
  return config.limit === 'latency' ? Math.min(most, placesOf(latency)) : most;
}
