/**
 * Whether a replica has room for a turn (rules 2, 6, 7). One rule for each value of `policy.admission`.
 *
 * `engine-load`: the last probe says whether the engine has turns waiting. None waiting: not limited.
 * Some waiting: at most as many turns in flight as the engine was running. In-flight turns are those the
 * core has admitted and not seen end, so a turn admitted a moment ago counts before any probe can have
 * seen it; foreign turns at the engine do not count against us (holding ours would not make them go away).
 * A batch turn leaves one place for each interactive run paused there. `maxConcurrent` caps all of it.
 * Where the engine does not say, only `maxConcurrent` limits. The limit is at least one, so a lying or
 * stuck metric cannot stop the pool.
 */
import type { Policy } from '../../contracts/config-file.ts';
import type { Replica, Turn } from './state.ts';

export interface AdmissionRule {
  /** Most turns in flight at once; Infinity: not limited. */
  limit(replica: Replica): number;
  hasRoom(replica: Replica, turn: Pick<Turn, 'countsAs'>): boolean;
}

const engineLoad: AdmissionRule = {
  limit(replica) {
    const most = replica.config.maxConcurrent ?? Number.POSITIVE_INFINITY;
    const { load } = replica;
    if (load === null || load.waiting === null || load.waiting <= 0) return most;
    // A queue without a known running count: nothing may be added to what is there now.
    const running = load.running ?? replica.inFlight;
    return Math.min(most, Math.max(1, running));
  },
  hasRoom(replica, turn) {
    const kept = turn.countsAs === 'batch' ? replica.pausedInteractive : 0;
    return replica.inFlight + kept < engineLoad.limit(replica);
  },
};

const rules: Readonly<Record<Policy['admission'], AdmissionRule>> = { 'engine-load': engineLoad };

export function admissionRule(policy: Policy): AdmissionRule {
  return rules[policy.admission];
}

/** Whether the replica may take any turn at all: a member whose last probe found it healthy. */
export function takesTurns(replica: Replica): boolean {
  return replica.member && replica.healthy === true;
}
