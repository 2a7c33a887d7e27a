/** Bounds and times of the core that no policy sets. All in milliseconds or counts. */
import type { ServiceClass } from '../../contracts/service-class.ts';

/** A turn in flight of which nothing was heard for this long is dropped; its place is free again. */
export const turnSilenceMs = 600_000;

/** A run without turns is forgotten after this long. */
export const runIdleMs = 1_800_000;

/** In-flight turns of a lost proxy are kept this long for its resync. */
export const lostProxyMs = 30_000;

/** A turn that comes back within this time of its loss keeps its first arrival time. */
export const retryMs = 60_000;

/** How long a paused run keeps its place on its replica, by class. */
export const pauseReservationMs: Readonly<Record<ServiceClass, number>> = {
  interactive: 15_000,
  batch: 5_000,
};

/** Live runs; at this number the run that has rested longest is forgotten, and if none rests the new turn is `overloaded`. */
export const maxRuns = 100_000;

/** Remembered losses of turns; the oldest is forgotten first. */
export const maxLosses = 100_000;

/** Probes in a row without a load report after which the last report counts as unknown. */
export const staleLoadProbes = 3;

/** Replicas listed for one run. */
export const maxReplicasListed = 16;

/**
 * After a restart (a resync brings turns in flight or runs), admissions wait this long from the first one, so that every proxy has told what it
 * has in flight and since when it holds its turns. Proxies look for a scheduler every 1,000 ms.
 */
export const resyncGraceMs = 1_500;
