/** The bounds of runs. */
import { limitsOf, type Limit } from './limit.ts';

export const runsLimits: readonly Limit[] = [
  ...limitsOf(
    'contracts/run-names.ts',
    [
      'runs that a caller has at work',
      'defaultMaxRunning',
      'a spawn is refused, with what to wait for',
      '`FERMATA_MAX_RUNS`, `callers.NAME.maxRunning`',
    ],
    ['depth of a tree', 'maxTreeDepth', 'a spawn is refused'],
    ['runs of a tree', 'maxTreeRuns', 'a spawn is refused'],
    ['text kept beside a run for lists', 'memoTextLimit', 'it is cut'],
  ),
  ...limitsOf('workflows/transcript.ts', [
    'a transcript',
    'transcriptLimitBytes',
    'old tool results become notes; if that is not enough, the run fails',
  ]),
  ...limitsOf('workflows/continuation.ts', [
    'what a run takes into its next execution',
    'continuationLimitBytes',
    'the run fails',
  ]),
  ...limitsOf('workflows/continue-run.ts', [
    'events of one execution of a run',
    'longestHistory',
    'it goes on in a new one',
  ]),
  ...limitsOf('workflows/run-tree.ts', [
    'updates of one execution of a tree',
    'longestUpdates',
    'it goes on in a new one',
  ]),
  ...limitsOf(
    'workflows/next-step.ts',
    ['calls in one reply', 'callsPerReplyLimit', 'the rest is refused, and the model is told'],
    ['asking for the same tool that does not exist', 'unknownNameLimit', 'the run fails'],
  ),
  ...limitsOf('workflows/approvals.ts', [
    'decided approvals that are kept',
    'decidedLimit',
    'the oldest is forgotten',
  ]),
  ...limitsOf(
    'workflows/activity-stubs.ts',
    ['tries of a tool that may be repeated', 'repeatableAttempts', 'the model is told of the failure'],
    ['an attempt whose worker does not tell of it', 'heartbeatTimeout', 'it is lost: another worker tries'],
    ['one turn or tool call in all', 'startToCloseTimeout', 'it has failed'],
    [
      'listing the tools of a new run',
      'startToCloseTimeout',
      'tried again, 5 times in all',
      '',
      'listingActivities',
    ],
    [
      'telling the proxy that a run has ended',
      'scheduleToCloseTimeout',
      'it is left to idleness',
      '',
      'endReport',
    ],
  ),
  ...limitsOf('workflows/budget-desk.ts', [
    'a run whose time is up, until its tree ends it',
    'treeGraceMs',
    'it ends itself',
  ]),
];
