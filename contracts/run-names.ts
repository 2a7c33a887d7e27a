/**
 * Names and constants of runs, apart from their schemas: the workflows import this file, and everything
 * that they import is loaded once for each run. `run.ts` has all of it too, for everyone else.
 */

/** Task queue of the workers; a test gives each stack its own. */
export const defaultTaskQueue = 'fermata';

/** Workflow types, as they stand in Temporal's lists. */
export const workflowTypes = { agentRun: 'agent-run', listTools: 'list-tools' } as const;

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
