/** How many of each part, how long, how often; what counts as a knee. Pure. */

export interface ScalePlan {
  readonly repeats: number;
  /** How many proxies, and how many workers, one after the other. */
  readonly counts: readonly number[];
  readonly proxies: {
    /** Over all proxies together. */
    readonly connections: number;
    readonly warmUpMs: number;
    readonly windowMs: number;
    readonly chunks: number;
  };
  readonly workers: { readonly runs: number; readonly stepsPerRun: number };
  readonly awaiting: {
    /** Clients that each spawn as many runs as one caller may have at work, and await them. */
    readonly clients: number;
    readonly runsPerClient: number;
    readonly stepsPerRun: number;
    /** Of the same number of runs, one client's after the other's, to compare with. */
    readonly wavesCompared: number;
  };
}

const full: ScalePlan = {
  repeats: 3,
  counts: [1, 2, 4],
  proxies: { connections: 16, warmUpMs: 1_000, windowMs: 5_000, chunks: 16 },
  workers: { runs: 100, stepsPerRun: 16 },
  awaiting: { clients: 10, runsPerClient: 100, stepsPerRun: 3, wavesCompared: 5 },
};

/** @param quick shortens windows; repeats, counts and bars stay. */
export function planOf(quick: boolean): ScalePlan {
  if (!quick) return full;
  return {
    ...full,
    proxies: { ...full.proxies, warmUpMs: 500, windowMs: 1_200 },
    workers: { runs: 30, stepsPerRun: 4 },
    awaiting: { ...full.awaiting, stepsPerRun: 1, wavesCompared: 1 },
  };
}

export const limits = {
  /** Processor time of a turn in a proxy over that in the scheduler: proxies that one scheduler can feed. */
  proxiesOfOneScheduler: 4,
  /** Time of the same runs in waves of one client's over all of them at once. */
  atOnceOverWaves: 0.8,
} as const;
