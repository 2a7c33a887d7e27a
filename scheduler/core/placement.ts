/**
 * Which of several replicas takes a turn (rule 9): filter, score, pick. A score is a pure function from 0
 * to 1; the weighted sum decides, then fewer turns and paused runs there, then the order of the pool.
 */
import { admissionRule, takesTurns } from './admission.ts';
import { homeOf } from './routes.ts';
import type { Replica, SchedulerState, Turn } from './state.ts';

/** Places assumed for a replica of which no limit is known, so that counts compare between replicas. */
const assumedPlaces = 64;

interface Score {
  readonly name: string;
  readonly weight: number;
  score(state: SchedulerState, turn: Turn, replica: Replica): number;
}

/** Its last replica holds its prefix: that wins until the loads differ by more than a quarter. */
const ownLastReplica: Score = {
  name: 'own-last-replica',
  weight: 0.25 + 1e-9,
  score: (_state, turn, replica) =>
    turn.run !== null && homeOf(turn.run, turn.spec.model) === replica.id ? 1 : 0,
};

const spareLoad: Score = {
  name: 'spare-load',
  weight: 1,
  score: (state, _turn, replica) => {
    const limit = admissionRule(state.policy).limit(replica);
    const places = Number.isFinite(limit) ? limit : assumedPlaces;
    return 1 - Math.min(1, occupied(replica) / places);
  },
};

/** A turn that has just failed somewhere is tried elsewhere first. */
const notWhereItFailed: Score = {
  name: 'not-where-it-failed',
  weight: 2,
  score: (_state, turn, replica) => (turn.avoid === replica.id ? 0 : 1),
};

const scores: readonly Score[] = [ownLastReplica, spareLoad, notWhereItFailed];

/** Turns in flight and runs that will come back from a pause; the engine's own count once it has a queue. */
function occupied(replica: Replica): number {
  const { running, waiting } = replica.load ?? {};
  const ours = replica.inFlight + replica.paused;
  return waiting !== undefined && waiting !== null && waiting > 0
    ? Math.max(ours, (running ?? 0) + waiting)
    : ours;
}

/** The filter: which replicas may take this turn now. */
export function mayTake(state: SchedulerState, turn: Turn, replica: Replica): boolean {
  return takesTurns(replica) && admissionRule(state.policy).hasRoom(replica, turn);
}

/** The replica for `turn` among those of its route; undefined when none has room. */
export function place(state: SchedulerState, turn: Turn, replicas: readonly Replica[]): Replica | undefined {
  let best: Replica | undefined;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const replica of replicas) {
    if (!mayTake(state, turn, replica)) continue;
    let total = 0;
    for (const { weight, score } of scores) total += weight * score(state, turn, replica);
    if (
      total > bestScore ||
      (total === bestScore && best !== undefined && occupied(replica) < occupied(best))
    ) {
      best = replica;
      bestScore = total;
    }
  }
  return best;
}
