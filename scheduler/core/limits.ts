/** Bounds and times of the core that no policy sets. All in milliseconds or counts. */
/** A turn in flight of which nothing was heard for this long is dropped; its place is free again. */
export const turnSilenceMs = 600_000;

/** A run without turns is forgotten after this long. */
export const runIdleMs = 1_800_000;

/** In-flight turns of a lost proxy are kept this long for its resync. */
export const lostProxyMs = 30_000;

/** A turn that comes back within this time of its loss keeps its first arrival time. */
export const retryMs = 60_000;

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

/** Tokens in one block of a turn's prefix: 1 KiB of text at four bytes a token. */
export const prefixBlockTokens = 256;

/** Blocks remembered for placement on a replica of which no capacity is known. */
export const maxPrefixBlocks = 65_536;

/** Tool names of which pauses are remembered; the one used longest ago is forgotten first. */
export const maxToolNames = 1_000;

/** Callers without turns whose counter of served tokens is remembered; the one gone longest first. */
export const maxIdleCallers = 10_000;
