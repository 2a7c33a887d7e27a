/**
 * Admission by the engine's own queue. The last probe says whether the engine has turns waiting. None
 * waiting: not limited. Some waiting: at most as many turns in flight as the engine was running. In-flight
 * turns are those the core has admitted and not seen end, so a turn admitted a moment ago counts before any
 * probe can have seen it; foreign turns at the engine do not count against us (holding ours would not make
 * them go away). A batch turn leaves one place for each interactive run paused there. What the pool allows
 * caps all of it. Where the engine does not say, only that limits. The limit is at least one, so a lying or
 * stuck metric cannot stop the pool.
 */
import type { AdmissionRule, Refusal } from './admission-rule.ts';
import { assumedPlaces, configuredPlaces } from './places.ts';
import type { Replica } from './state.ts';

export const engineLoad: AdmissionRule = {
  limit(replica) {
    const most = configuredPlaces(replica);
    const { load } = replica;
    if (load === null || load.waiting === null || load.waiting <= 0) return most;
    // A queue without a known running count: nothing may be added to what is there now.
    const running = load.running ?? replica.inFlight;
    return Math.min(most, Math.max(1, running));
  },
  refusal(_state, replica, turn) {
    return refusalByQueue(replica, turn.countsAs === 'batch' ? replica.pausedInteractive : 0);
  },
  fullness(replica) {
    const limit = engineLoad.limit(replica);
    return occupied(replica) / (Number.isFinite(limit) ? limit : assumedPlaces);
  },
};

/** @param keptPlaces places that are left free for others. */
export function refusalByQueue(replica: Replica, keptPlaces: number): Refusal | null {
  if (replica.inFlight + keptPlaces < engineLoad.limit(replica)) return null;
  return replica.inFlight < configuredPlaces(replica) ? 'engine_queue' : 'places';
}

/** Turns in flight and runs that will come back from a pause; the engine's own count once it has a queue. */
export function occupied(replica: Replica): number {
  const { running, waiting } = replica.load ?? {};
  const ours = replica.inFlight + replica.paused;
  return waiting !== undefined && waiting !== null && waiting > 0
    ? Math.max(ours, (running ?? 0) + waiting)
    : ours;
}
