/**
 * Names and constants of runs, apart from their schemas: the workflows import this file, and everything
 * that they import is loaded once for each run. `run.ts` has all of it too, for everyone else.
 */

/** Task queue of the workers; a test gives each stack its own. */
export const defaultTaskQueue = 'fermata';

/** Workflow types, as they stand in Temporal's lists. */
export const workflowTypes = {
  agentRun: 'agent-run',
  runTree: 'run-tree',
  listTools: 'list-tools',
} as const;

/** Id of the workflow that keeps the tree of `root`; there is none before its first child or cancel. */
export function treeWorkflowId(root: string): string {
  return `tree_${root}`;
}

/**
 * Update of a `run-tree` that starts runs under runs of its tree; argument: `SpawnChild[]`, answer:
 * `SpawnAnswer[]` in their order (`run-tree.ts` has the shapes).
 */
export const spawnChildrenUpdate = 'spawnChildren';

/** Update of a `run-tree` that cancels a run and everything below it; argument: `CancelSubtree`. */
export const cancelSubtreeUpdate = 'cancelSubtree';

/** Signal that does the same, for a moment in which no worker answers. */
export const cancelSubtreeSignal = 'cancelSubtreeLater';

/** Query that returns a `TreeState`. */
export const treeQuery = 'tree';

/** `ApplicationFailure` with which a `run-tree` refuses a message that can be sent again in a moment. */
export const treeBusyFailure = 'TreeBusy';

/** Runs on the way from the root, itself counted, to the deepest run. */
export const maxTreeDepth = 8;
/** The root counts, and so do runs that have ended. */
export const maxTreeRuns = 1_000;
/** Runs that one caller may have at work at once, in all its trees. */
export const defaultMaxRunning = 100;

/** Said at that limit, wherever it is noticed. */
export function callerFullText(maxRunning: number): string {
  return `you have ${maxRunning} runs at work, the most that one caller may have at once; await some of them or cancel one, then spawn again`;
}

/** Memo entry of a run by which a repeated start with another body is told from a true repeat. */
export const requestMemoKey = 'request';

/** Update of an `agent-run` that decides an open approval; argument: {@link ApprovalDecision}. */
export const decideApprovalUpdate = 'decideApproval';

/**
 * Signal that does the same, for Temporal's own pages and command line: `{id?, allow?, by?}` or nothing.
 * Without `id` the only open approval is meant, without `allow` it is allowed.
 */
export const approveSignal = 'approve';

/** Query that returns the approvals of a run, open and decided, as a {@link runApprovalsSchema}. */
export const approvalsQuery = 'approvals';

/**
 * `ApplicationFailure` types with which `decideApproval` is refused; its message is readable. The details
 * of `decided` hold the {@link decidedApprovalSchema} that came first.
 */
export const approvalFailureTypes = {
  unknown: 'UnknownApproval',
  decided: 'ApprovalDecided',
  invalid: 'InvalidDecision',
} as const;

export const budgetNames = ['tokens', 'toolCalls', 'seconds'] as const;
export type BudgetName = (typeof budgetNames)[number];

/** A handle is `run_` and 22 characters of base62; it is the Temporal workflow id of its run. */
export const handlePattern = /^run_[A-Za-z0-9]{22}$/;

/** Key of the one memo entry of a run; its value is a {@link runMemoSchema}. */
export const runMemoKey = 'run';

/** Search attributes (all Keyword) that lists are filtered by. */
export const searchAttributes = {
  status: 'FermataStatus',
  caller: 'FermataCaller',
  class: 'FermataClass',
  root: 'FermataRoot',
  parent: 'FermataParent',
} as const;

/** Query that returns the messages of a run, as an array of `ChatMessage`; argument: how many, absent for all. */
export const transcriptQuery = 'transcript';

/**
 * Temporal's id of the activity that carries a tool call out. A run upserts its memo once a turn; that its
 * tools run now, and which, is read from the activities that Temporal has open.
 * @param index of the call in its reply.
 */
export function callActivityId(tool: string, index: number): string {
  return `${tool} ${index + 1}`;
}

/** The tool of a {@link callActivityId}. */
export function toolOfActivityId(id: string): string {
  return id.replace(/ \d+$/, '');
}

export const runStatusNames = ['Running', 'AwaitingApproval', 'Completed', 'Failed', 'Cancelled'] as const;

/** Counters of a run that has done nothing yet. */
export const zeroCounters = {
  turns: 0,
  toolCalls: 0,
  failedToolCalls: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  modelMs: 0,
  toolMs: 0,
  heldMs: 0,
};

/** Longest task summary, reason and partial text kept in a memo, in UTF-16 units. */
export const memoTextLimit = 4_096;

/** Query that returns the tools the run offers to its model, as an array of `ListedTool`. */
export const toolsQuery = 'tools';

/** `ApplicationFailure` types with which a run ends as Failed; its message is readable. */
export const runFailureTypes = {
  invalidInput: 'InvalidRunInput',
  model: 'ModelFailed',
  tools: 'ToolsUnavailable',
  unknownTool: 'UnknownToolRepeated',
  noAnswer: 'NoAnswer',
  tooLarge: 'TranscriptTooLarge',
} as const;
