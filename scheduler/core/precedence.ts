/**
 * Who may not overtake whom. Under `residency` turns need different amounts of room, so the first turn in
 * order that does not fit would wait for ever while smaller ones pass it: it keeps its place at each replica
 * that it may go to, and so does a batch turn that has earned the next place.
 */
import { admissionRule, takesTurns } from './admission.ts';
import type { Refusal } from './admission-rule.ts';
import { batchTurnDue, goesBefore } from './batch-share.ts';
import { laneBefore, type Candidate } from './order.ts';
import { firstOf } from './queue.ts';
import { countsContexts } from './residency.ts';
import type { Replica, SchedulerState, Turn } from './state.ts';

/** Whether the replica may take this turn now, whoever else waits. */
export function mayTake(state: SchedulerState, turn: Turn, replica: Replica): boolean {
  return takesTurns(replica) && admissionRule(state.policy).refusal(state, replica, turn) === null;
}

/** Whether a turn with room on `replica` must leave that room to one that is before it and does not fit yet. */
export function mustWaitFor(state: SchedulerState, candidate: Candidate, replica: Replica): boolean {
  if (candidate.pinned || candidate.turn.run === null) return false;
  if (!countsContexts(state.policy, replica)) return false;
  const due = batchTurnDue(state, replica);
  if (due !== undefined && goesBefore(due, candidate) && !fits(state, due.turn, replica)) return true;
  for (const route of replica.routes) {
    if (route.pinnedTo !== null || route === candidate.queue.lane.route) continue;
    const other = firstOf(route);
    if (other !== undefined && laneBefore(other, candidate) && !fits(state, other.turn, replica)) return true;
  }
  return false;
}

/** Why the turn that goes first among all that may come to `replica` has no room there; null: none waits. */
export function refusalOfFirst(state: SchedulerState, replica: Replica): Refusal | null {
  let best: Candidate | undefined;
  for (const route of replica.routes) {
    const candidate = firstOf(route);
    if (candidate !== undefined && (best === undefined || laneBefore(candidate, best))) best = candidate;
  }
  return best === undefined ? null : admissionRule(state.policy).refusal(state, replica, best.turn);
}

function fits(state: SchedulerState, turn: Turn, replica: Replica): boolean {
  return admissionRule(state.policy).refusal(state, replica, turn) !== 'memory';
}
