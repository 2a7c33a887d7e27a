/**
 * How time passes for a lease: two readings, of which one never runs ahead of the truth and the other never stays
 * behind it. They differ where the machine was suspended, which its monotonic clock does not count and its wall
 * clock shows as a jump. Whoever waits for another's lease to lapse goes by the slow one; whoever holds it goes by
 * the fast one. A wall clock that is set forward ends a lease early, and one that is set back does nothing.
 */
export interface Instant {
  readonly slowMs: number;
  readonly fastMs: number;
}

/** A wall clock that gains less from one reading to the next is only being corrected. */
const jumpMs = 50;

/** @param monotonicMs never goes back. @param wallMs may do anything. */
export function createLeaseClock(
  monotonicMs: () => number = () => performance.now(),
  wallMs: () => number = Date.now,
): () => Instant {
  let lastMonotonicMs = monotonicMs();
  let lastWallMs = wallMs();
  let missedMs = 0;
  return () => {
    const nowMs = monotonicMs();
    const nowWallMs = wallMs();
    const gainedMs = nowWallMs - lastWallMs - (nowMs - lastMonotonicMs);
    if (gainedMs > jumpMs) missedMs += gainedMs;
    lastMonotonicMs = nowMs;
    lastWallMs = nowWallMs;
    return { slowMs: nowMs, fastMs: nowMs + missedMs };
  };
}
