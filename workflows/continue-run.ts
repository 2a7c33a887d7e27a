/**
 * Lets a run go on in a new workflow execution before its history grows too long. Only called between
 * two steps, when no call is open: nothing of the old execution has to be waited for in the new one.
 */
import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  makeContinueAsNewFunc,
  workflowInfo,
} from '@temporalio/workflow';
import { runMemoKey } from '../contracts/run-names.ts';
import { continuationOf } from './continuation.ts';
import { memoOf } from './run-state.ts';
import type { RunState } from './run-state.ts';

/** Events of a history after which a run goes on in a new execution, if Temporal has not asked for it before. */
const longestHistory = 8_000;

export function isContinuationDue(): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength >= longestHistory;
}

/**
 * Ends this execution and starts the next one with everything the run remembers.
 * @param stateNow read last, so that what a message changed while handlers came to their end goes along.
 * @throws always: what Temporal ends the execution with, or CancelledFailure when a cancel came first.
 */
export async function continueRun(stateNow: () => RunState): Promise<never> {
  await condition(allHandlersFinished);
  // No activity is open that would tell of a cancel which came in this very task.
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('the run was cancelled');
  const { memo, typedSearchAttributes } = workflowInfo();
  const state = stateNow();
  const goOn = makeContinueAsNewFunc({
    memo: { ...memo, [runMemoKey]: memoOf(state) },
    typedSearchAttributes,
    // Among versioned workers the next execution begins on the build that is current then.
    initialVersioningBehavior: 'AUTO_UPGRADE',
  });
  return await goOn(continuationOf(state));
}
