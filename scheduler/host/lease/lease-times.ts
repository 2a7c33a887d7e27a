/** The times of a lease, in milliseconds. With them a scheduler that is killed is replaced within 3 s. */
export interface LeaseTimes {
  /** Without a renewal for this long, by the clock of who watches, the lease may be taken. */
  readonly durationMs: number;
  /**
   * The holder is active for this long after it began to write its last renewal, by its own clock. What it is
   * shorter than `durationMs` covers clocks of different speed.
   */
  readonly heldForMs: number;
  /** From one renewal to the next. */
  readonly renewEveryMs: number;
  /** From one look at the lease of another to the next. */
  readonly lookEveryMs: number;
  /** After a failure, until the next try. */
  readonly retryMs: number;
  /** A read or write that takes longer counts as failed. */
  readonly answerWithinMs: number;
}

export const leaseTimes: LeaseTimes = {
  durationMs: 2_000,
  heldForMs: 1_500,
  renewEveryMs: 500,
  lookEveryMs: 200,
  retryMs: 100,
  answerWithinMs: 1_000,
};

/** A record that names a longer duration is believed up to this, so that a wrong one cannot last. */
export const longestDurationMs = 60_000;
