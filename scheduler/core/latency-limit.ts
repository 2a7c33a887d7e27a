/**
 * `limit: latency`: most turns in flight on a replica whose engine tells nothing of its queue. The time to
 * the first byte stands for it: while that stays near the best one seen lately the limit grows by one a
 * limit's worth of turns, and when it is far above, the limit shrinks by a part. Never below one.
 */
const firstLimit = 4;
const largestLimit = 1_000;
const decrease = 0.8;
/** Far above: more than twice the best, and this much more, so that quick engines are not called slow. */
const slackMs = 250;
/** The best time is forgotten after one to two of these, as prompts and engines change. */
const windowMs = 60_000;

export interface LatencyLimit {
  /** Fractional; the whole part is in force. */
  limit: number;
  /** Best time to first byte of the window before and of this one. */
  previousBestMs: number;
  bestMs: number;
  windowFromMs: number;
  /** Turns admitted before the last decrease say nothing about the limit since. */
  decreasedAtMs: number;
}

export function createLatencyLimit(): LatencyLimit {
  return {
    limit: firstLimit,
    previousBestMs: Number.POSITIVE_INFINITY,
    bestMs: Number.POSITIVE_INFINITY,
    windowFromMs: 0,
    decreasedAtMs: Number.NEGATIVE_INFINITY,
  };
}

export function placesOf({ limit }: LatencyLimit): number {
  return Math.max(1, Math.floor(limit));
}

/**
 * The first byte of a turn came. Returns whether the number of places changed.
 * @param inFlight turns in flight with this one: a limit that is not reached does not grow
 */
export function noteFirstByte(
  state: LatencyLimit,
  { admittedAtMs, nowMs, inFlight }: { admittedAtMs: number; nowMs: number; inFlight: number },
): boolean {
  const tookMs = nowMs - admittedAtMs;
  const before = placesOf(state);
  if (nowMs - state.windowFromMs >= windowMs) {
    state.previousBestMs = state.bestMs;
    state.bestMs = Number.POSITIVE_INFINITY;
    state.windowFromMs = nowMs;
  }
  state.bestMs = Math.min(state.bestMs, tookMs);
  const bestMs = Math.min(state.bestMs, state.previousBestMs);
  if (tookMs > 2 * bestMs + slackMs) {
    if (admittedAtMs > state.decreasedAtMs) {
      state.limit = Math.max(1, state.limit * decrease);
      state.decreasedAtMs = nowMs;
    }
  } else if (inFlight >= before) {
    state.limit = Math.min(largestLimit, state.limit + 1 / state.limit);
  }
  return placesOf(state) !== before;
}
