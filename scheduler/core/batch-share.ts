/**
 * The batch share (rule 4): while batch turns wait for a replica, each admission there of a run that is not
 * resident earns them `policy.batchShare` of a place; with a whole place earned, the next such admission is
 * theirs, also where they would have to leave it to a paused interactive run. The share is kept for each
 * replica, since that is where the classes compete.
 */
import { isBatchRank, laneBefore, type Candidate } from './order.ts';
import { firstOf } from './queue.ts';
import type { Replica, SchedulerState } from './state.ts';

/** The batch turn that goes next on `replica`, before all interactive ones; undefined: none has earned it. */
export function batchTurnDue(state: SchedulerState, replica: Replica): Candidate | undefined {
  const due = replica.batchCredit + state.policy.batchShare >= 1 - Number.EPSILON * 16;
  return due ? firstBatchFor(replica) : undefined;
}

/** Whether the batch turn that is due goes before another one. */
export function goesBefore(due: Candidate, other: Candidate): boolean {
  return due.turn !== other.turn && (!isBatchRank(other.rank) || laneBefore(due, other));
}

/** Keeps the account. What batch turns get without the share counts too, but they never owe a place. */
export function noteShare(
  state: SchedulerState,
  candidate: Candidate,
  chosen: Candidate,
  replica: Replica,
): void {
  if (candidate.pinned || firstBatchFor(replica) === undefined) return;
  const { batchShare } = state.policy;
  if (chosen.turn.spec.class === 'batch')
    replica.batchCredit = Math.max(0, replica.batchCredit + batchShare - 1);
  // A turn of no run may pass one that is due and has no room; more than a place is not earned by waiting.
  else replica.batchCredit = Math.min(1, replica.batchCredit + batchShare);
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
