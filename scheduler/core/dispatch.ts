/**
 * Admits every turn that can be admitted now, in order. Looks only at the routes that something in this
 * step has touched and only at the first turn of each, so a step that admits nothing costs the same
 * however many turns are held.
 */
import { batchTurnDue, goesBefore, noteShare } from './batch-share.ts';
import { admitTurn } from './turns.ts';
import { place } from './placement.ts';
import { laneBefore, type Candidate } from './order.ts';
import { mayTake, mustWaitFor } from './precedence.ts';
import { firstOf } from './queue.ts';
import { touchRoutesOf } from './routes.ts';
import type { Effect } from './events.ts';
import type { Replica, Route, SchedulerState } from './state.ts';

export function dispatch(state: SchedulerState, effects: Effect[]): void {
  // What was touched until then is looked at afterwards.
  if (state.nowMs < state.settledAtMs) return;
  for (;;) {
    for (const replica of state.freed) touchRoutesOf(state, replica);
    state.freed.clear();
    const best = bestCandidate(state);
    if (best === undefined) break;
    const { replicas } = best.queue.lane.route;
    const replica = place(
      state,
      best.turn,
      replicas.filter((one) => isOpen(state, best, one)),
    );
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
  return route.replicas.some((replica) => isOpen(state, candidate, replica)) ? candidate : undefined;
}

function isOpen(state: SchedulerState, candidate: Candidate, replica: Replica): boolean {
  return mayTake(state, candidate.turn, replica) && !mustWaitFor(state, candidate, replica);
}

function admitAt(state: SchedulerState, effects: Effect[], candidate: Candidate, replica: Replica): void {
  const due = candidate.pinned ? undefined : batchTurnDue(state, replica);
  const isTheirs =
    due !== undefined && goesBefore(due, candidate) && hasRoomFor(state, due, candidate, replica);
  const chosen = isTheirs ? due : candidate;
  noteShare(state, candidate, chosen, replica);
  admitTurn(state, effects, chosen.turn, replica);
}

/** A turn of a run has left its room to one that is due and does not fit yet; one of no run needs none of it. */
function hasRoomFor(state: SchedulerState, due: Candidate, candidate: Candidate, replica: Replica): boolean {
  return candidate.turn.run !== null || mayTake(state, due.turn, replica);
}
