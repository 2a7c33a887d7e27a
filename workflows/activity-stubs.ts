/**
 * The activities as the workflows call them, with their time limits and retries. Long waits are normal:
 * a turn may be held for hours, so what ends a lost attempt is its missing heartbeat, not its age.
 */
import { ActivityCancellationType, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { RunActivities } from '../activities/activity-types.ts';

/** Attempts of a tool that may be repeated. */
export const repeatableAttempts = 3;

const longRunning = {
  startToCloseTimeout: '7 days',
  heartbeatTimeout: '10 seconds',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
} as const;

/**
 * Which failures are retried, and after how long, is what the activity says of each. An attempt that was lost
 * with its worker says nothing and is made again soon, however many were lost before it.
 */
export const modelActivities = proxyActivities<Pick<RunActivities, 'modelTurn'>>({
  ...longRunning,
  retry: { initialInterval: '1 second', backoffCoefficient: 1 },
});

/** Calls that must never be repeated: an attempt that is lost stays lost. */
export const onceActivities = proxyActivities<Pick<RunActivities, 'callTool'>>({
  ...longRunning,
  retry: { maximumAttempts: 1 },
});

export const repeatableActivities = proxyActivities<Pick<RunActivities, 'callTool'>>({
  ...longRunning,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumAttempts: repeatableAttempts },
});

/** Local, so that sixteen runs spawned at once begin their first turns with half the tasks. */
export const listingActivities = proxyLocalActivities<Pick<RunActivities, 'listTools'>>({
  // A server that hangs is left out after 5 s; a lost worker must not hold up the start of a run for longer.
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '500 milliseconds', maximumAttempts: 5 },
});

/** After an answer: nothing at the engine waits for it, and a local activity costs no dispatch. */
export const quickEndReport = proxyLocalActivities<Pick<RunActivities, 'reportRunEnded'>>({
  startToCloseTimeout: '1 second',
  scheduleToCloseTimeout: '2 seconds',
  retry: { initialInterval: '200 milliseconds', maximumAttempts: 2 },
});

/** After a cancel or a failure: sent at once with the commands of the same workflow task. */
export const endReport = proxyActivities<Pick<RunActivities, 'reportRunEnded'>>({
  startToCloseTimeout: '3 seconds',
  scheduleToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '2 seconds' },
});

/** Short looks of a tree at its runs; a local activity, so that no run in a worker's slots can hold it up. */
export const treeActivities = proxyLocalActivities<Pick<RunActivities, 'describeRuns'>>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '10 seconds' },
});
