/**
 * Which of several replicas takes a turn (rule 9): filter, score, pick. A score is a pure function from 0
 * to 1; the weighted sum decides, then the smaller load in tokens and turns, then the order of the pool.
 */
import { admissionRule } from './admission.ts';
import type { AdmissionRule } from './admission-rule.ts';
import { engineLoad, occupied } from './engine-load.ts';
import { matchedShare } from './prefix-placement.ts';
import { homeOf } from './routes.ts';
import type { Replica, SchedulerState, Turn } from './state.ts';

interface Score {
  readonly name: string;
  readonly weight: number;
  score(state: SchedulerState, turn: Turn, replica: Replica): number;
}

/** A prompt that is cached there wins until the loads differ by more than a quarter; half of one, an eighth. */
const cachedPrefix: Score = {
  name: 'cached-prefix',
  weight: 0.25 + 1e-9,
  score: (_state, turn, replica) =>
    turn.spec.prefix.length === 0 ? Number(isHome(turn, replica)) : matchedShare(turn, replica),
};

/** Between equals. */
const ownLastReplica: Score = {
  name: 'own-last-replica',
  weight: 0.01,
  score: (_state, turn, replica) => Number(isHome(turn, replica)),
};

const spareLoad: Score = {
  name: 'spare-load',
  weight: 1,
  score: (state, turn, replica) => 1 - Math.min(1, ruleFor(state, turn).fullness(replica)),
};

/** A turn that has just failed somewhere is tried elsewhere first. */
const notWhereItFailed: Score = {
  name: 'not-where-it-failed',
  weight: 2,
  score: (_state, turn, replica) => (turn.avoid === replica.id ? 0 : 1),
};

const scores: readonly Score[] = [cachedPrefix, ownLastReplica, spareLoad, notWhereItFailed];

function isHome(turn: Turn, replica: Replica): boolean {
  return turn.run !== null && homeOf(turn.run, turn.spec.model) === replica.id;
}

/** The best of `replicas`, all of which have room for the turn; undefined when there is none. */
export function place(state: SchedulerState, turn: Turn, replicas: readonly Replica[]): Replica | undefined {
  let best: Replica | undefined;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const replica of replicas) {
    let total = 0;
    for (const { weight, score } of scores) total += weight * score(state, turn, replica);
    if (total > bestScore || (total === bestScore && best !== undefined && isLighter(turn, replica, best))) {
      best = replica;
      bestScore = total;
    }
  }
  return best;
}

/** A turn of no run leaves nothing in memory, and the contexts of others are nothing to it. */
function ruleFor(state: SchedulerState, turn: Turn): AdmissionRule {
  return turn.run === null ? engineLoad : admissionRule(state.policy);
}

function isLighter(turn: Turn, a: Replica, b: Replica): boolean {
  const tokens = turn.run === null ? 0 : a.ledger.tokens - b.ledger.tokens;
  return tokens === 0 ? occupied(a) < occupied(b) : tokens < 0;
}
