/**
 * Admission by the contexts of live runs. An engine's queue is a late signal: runs paused on tools hold cached
 * context but neither run nor wait, so new work evicts them and every resumed turn is prefilled again. So the
 * next turn of a resident run has room at once, and any other turn where its context fits beside those of the
 * residents; paused residents included, which is also the room that batch turns leave for them. A replica
 * without residents takes one turn, so nothing deadlocks. The engine's queue stays a second gate, and
 * is the only one where contexts cannot be measured.
 */
import type { Policy } from '../../contracts/config-file.ts';
import type { AdmissionRule } from './admission-rule.ts';
import { fits, isMeasurable, keptApart } from './capacity.ts';
import { engineLoad, refusalByQueue } from './engine-load.ts';
import { footprintOf } from './footprint.ts';
import { assumedPlaces, configuredPlaces } from './places.ts';
import { isResidentOn } from './residence.ts';
import type { Replica } from './state.ts';

/** Used share of an engine's memory from which its queue counts as a lack of it. */
const usedUp = 0.9;

export const residency: AdmissionRule = {
  limit: (replica) =>
    isMeasurable(replica.capacity) ? configuredPlaces(replica) : engineLoad.limit(replica),
  refusal(state, replica, turn) {
    const { run } = turn;
    if (!isMeasurable(replica.capacity)) return engineLoad.refusal(state, replica, turn);
    // What is paused has its room in memory, and a turn of no run takes none of that.
    if (run === null) return refusalByQueue(replica, 0);
    if (replica.inFlight >= configuredPlaces(replica)) return 'places';
    const { ledger, capacity } = replica;
    if (isResidentOn(run, replica) || ledger.contexts === 0) return null;
    // Beyond its slots they would wait in its queue, whatever comes meanwhile.
    if (replica.inFlight >= (capacity.reportedContexts ?? Number.POSITIVE_INFINITY)) return 'places';
    if (lacksMemory(replica)) return 'engine_queue';
    const addedTokens = ledger.addedTokens({
      tokens: footprintOf(turn, replica),
      prefix: turn.spec.prefix,
    });
    if (!fits(capacity, ledger.contexts + 1, ledger.tokens + addedTokens)) return 'memory';
    return evictsNone(replica, addedTokens, state.tickedAtMs) ? null : 'memory';
  },
  fullness(replica) {
    if (!isMeasurable(replica.capacity)) return engineLoad.fullness(replica);
    const { ledger, capacity } = replica;
    const places = configuredPlaces(replica);
    const ofPlaces = replica.inFlight / (Number.isFinite(places) ? places : assumedPlaces);
    const ofMemory = Number.isFinite(capacity.tokens)
      ? ledger.tokens / capacity.tokens
      : ledger.contexts / assumedPlaces;
    return Math.max(ofPlaces, ofMemory, ledger.contexts / capacity.contexts);
  },
};

/** Whether the engine would find room for a new context without the eviction of one that is kept. */
function evictsNone({ capacity, cacheOrder, slotOrder }: Replica, tokens: number, nowMs: number): boolean {
  const { reportedTokens, contexts } = capacity;
  if (reportedTokens !== null && !cacheOrder.hasRoom(tokens, reportedTokens, nowMs)) return false;
  return !Number.isFinite(contexts) || slotOrder.hasRoom(1, keptApart(capacity), nowMs);
}

/** Turns wait in the engine's queue, and not just for their place in the next batch: its memory is used up. */
function lacksMemory({ load }: Replica): boolean {
  if (load === null || load.waiting === null || load.waiting <= 0) return false;
  return load.cacheUsage === null || load.cacheUsage >= usedUp;
}

/** Whether this rule, and not that of the engine's queue, is in force on a replica. */
export function countsContexts(policy: Policy, replica: Replica): boolean {
  return policy.admission === 'residency' && isMeasurable(replica.capacity);
}

/** Whether contexts beyond the capacity must drain: then a run that pauses gives its place up. */
export function isOverfull({ ledger, capacity }: Replica): boolean {
  return !fits(capacity, ledger.contexts, ledger.tokens);
}
