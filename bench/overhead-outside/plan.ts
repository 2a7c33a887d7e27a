/** How long, how often, and in which order. Pure. */

export interface OutsidePlan {
  readonly repeats: number;
  /** Whole seconds: wrk knows no others. */
  readonly windowSeconds: number;
  readonly warmUpRequests: number;
  /** One at a time over this many connections, at this rate. */
  readonly paced: { readonly ratePerSecond: number; readonly connections: number };
  /** As many as it can, on one core. */
  readonly closed: { readonly connections: number; readonly chunks: number };
}

/** @param quick shortens windows; repeats and bars stay. Five repeats, since their range is the error. */
export function planOf(quick: boolean): OutsidePlan {
  return {
    repeats: 5,
    windowSeconds: quick ? 1 : 5,
    warmUpRequests: 300,
    paced: { ratePerSecond: 200, connections: 20 },
    closed: { connections: 16, chunks: 16 },
  };
}
