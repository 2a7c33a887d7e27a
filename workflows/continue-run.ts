/**
 * Lets a run go on in a new workflow execution before its history grows too long. Only called between
 * two steps, when no call is open: nothing of the old execution has to be waited for in the new one.
 */
import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  makeContinueAsNewFunc,
  workflowInfo,
} from '@temporalio/workflow';
import { runFailureTypes, runMemoKey } from '../contracts/run-names.ts';
import { continuationOf } from './continuation.ts';
import { memoOf } from './run-state.ts';
import type { RunState } from './run-state.ts';
import { workflowNowMs } from './workflow-clock.ts';

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
  // It also tells of a cancel that came in this very task: no activity is open that would.
  await condition(allHandlersFinished);
  const { memo, typedSearchAttributes } = workflowInfo();
  const state = stateNow();
  const goOn = makeContinueAsNewFunc({
    memo: { ...memo, [runMemoKey]: memoOf(state, workflowNowMs()) },
    typedSearchAttributes,
    // Among versioned workers the next execution begins on the build that is current then.
    initialVersioningBehavior: 'AUTO_UPGRADE',
  });
  const continuation = continuationOf(state);
  if (continuation === null) {
    throw ApplicationFailure.nonRetryable(
      'what the run remembers is more than a new workflow execution can be given; give the run a smaller task',
      runFailureTypes.tooLarge,
    );
  }
  return await goOn(continuation);
}
