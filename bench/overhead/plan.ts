/** How long, how often and in which order things are measured. Pure. */

export interface Plan {
  /** Requests that each arm answers before anything counts; half of them stream. */
  readonly warmUpRequests: number;
  /** Then this long with streams as in the windows: which code is compiled, and for what, depends on the load. */
  readonly warmUpMs: number;
  /** How often each arm has its turn at everything. */
  readonly repeats: number;
  /** Open loops, one window of each in every repeat. */
  readonly rates: readonly { readonly ratePerSecond: number; readonly windowMs: number }[];
  /** Chunks of a stream in an open loop. */
  readonly chunks: number;
  readonly closed: {
    readonly connections: number;
    readonly warmUpMs: number;
    readonly windowMs: number;
    /** Chunks of a stream in a closed loop. */
    readonly chunks: number;
  };
  readonly soak: {
    readonly requests: number;
    readonly warmUpRequests: number;
    readonly connections: number;
    /** Runs that come back again and again. */
    readonly runs: number;
    readonly heldTurns: number;
  };
}

/** The rate at which the bars of the first byte hold. */
export const barRate = 200;

const full: Plan = {
  // A process's first ones are slower by a multiple: its code is being compiled beside them.
  warmUpRequests: 2_000,
  warmUpMs: 10_000,
  repeats: 3,
  rates: [
    { ratePerSecond: barRate, windowMs: 6_000 },
    { ratePerSecond: 50, windowMs: 3_000 },
  ],
  chunks: 10,
  closed: { connections: 16, warmUpMs: 500, windowMs: 2_500, chunks: 16 },
  soak: { requests: 100_000, warmUpRequests: 10_000, connections: 32, runs: 1_000, heldTurns: 20_000 },
};

/** @param quick shortens windows; repeats, requests of the soak and bars stay. */
export function planOf(quick: boolean): Plan {
  if (!quick) return full;
  return {
    ...full,
    warmUpMs: 6_000,
    rates: [
      { ratePerSecond: barRate, windowMs: 2_500 },
      { ratePerSecond: 50, windowMs: 1_000 },
    ],
    closed: { ...full.closed, warmUpMs: 500, windowMs: 1_500 },
  };
}

/** The arms in the order of one repeat: each repeat begins with another one, so that none always goes first. */
export function orderOf<Arm>(arms: readonly Arm[], repeat: number): readonly Arm[] {
  const first = arms.length === 0 ? 0 : repeat % arms.length;
  return [...arms.slice(first), ...arms.slice(0, first)];
}

/** The seed of a window: the same for every arm, another in each repeat and at each rate. */
export function seedOf(repeat: number, ratePerSecond: number): number {
  return 1_000 * (repeat + 1) + ratePerSecond;
}
