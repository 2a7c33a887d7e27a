/**
 * Admits every turn that can be admitted now, in order. Looks only at the routes that something in this
 * step has touched and only at the first turn of each, so a step that admits nothing costs the same
 * however many turns are held.
 *
 * Batch share: while batch turns wait for a replica, each admission there of a run that is not resident
 * earns them `policy.batchShare` of a place; with a whole place earned, the next such admission is theirs,
 * also where they would have to leave it to a paused interactive run. The share is kept for each replica,
 * since that is where the classes compete.
 */
import { admitTurn } from './turns.ts';
import { mayTake, place } from './placement.ts';
import { laneBefore, isBatchRank, type Candidate } from './order.ts';
import { firstOf } from './queue.ts';
import { touchRoutesOf } from './routes.ts';
import type { Effect } from './events.ts';
import type { Replica, Route, SchedulerState } from './state.ts';

export function dispatch(state: SchedulerState, effects: Effect[]): void {
  // What was touched until then is looked at afterwards.
  if (state.nowMs < state.settledAtMs) return;
  for (const replica of state.freed) touchRoutesOf(state, replica);
  state.freed.clear();
  for (;;) {
    const best = bestCandidate(state);
    if (best === undefined) break;
    const replica = place(state, best.turn, best.queue.lane.route.replicas);
    if (replica === undefined) throw new Error('a turn was found admissible, and no replica has room');
    admitAt(state, effects, best, replica);
  }
  state.touched.clear();
}

/** The first admissible turn in order; routes on which nothing is admissible are not looked at again. */
function bestCandidate(state: SchedulerState): Candidate | undefined {
  let best: Candidate | undefined;
  for (const route of state.touched) {
    const candidate = admissible(state, route);
    if (candidate === undefined) state.touched.delete(route);
    else if (best === undefined || laneBefore(candidate, best)) best = candidate;
  }
  return best;
}

/** Whoever is first on a route keeps its place: when it has no room, nobody behind it is asked. */
function admissible(state: SchedulerState, route: Route): Candidate | undefined {
  const candidate = firstOf(route);
  if (candidate === undefined) return undefined;
  return route.replicas.some((replica) => mayTake(state, candidate.turn, replica)) ? candidate : undefined;
}

function admitAt(state: SchedulerState, effects: Effect[], candidate: Candidate, replica: Replica): void {
  const share = state.policy.batchShare;
  const batch = candidate.pinned ? undefined : firstBatchFor(replica);
  if (batch === undefined) {
    admitTurn(state, effects, candidate.turn, replica);
    return;
  }
  const due = replica.batchCredit + share >= 1 - Number.EPSILON * 16;
  const chosen = due && !isBatchRank(candidate.rank) ? batch : candidate;
  // What batch turns get without the share counts too, but they never owe a place.
  if (chosen.turn.spec.class === 'batch') replica.batchCredit = Math.max(0, replica.batchCredit + share - 1);
  else replica.batchCredit += share;
  admitTurn(state, effects, chosen.turn, replica);
}

/** The first batch turn of a run that is not resident, among all that may come to this replica. */
function firstBatchFor(replica: Replica): Candidate | undefined {
  let best: Candidate | undefined;
  for (const route of replica.routes) {
    if (route.pinnedTo !== null) continue;
    const candidate = firstOf(route, 'batch');
    if (candidate !== undefined && (best === undefined || laneBefore(candidate, best))) best = candidate;
  }
  return best;
}
