/**
 * One run, from its task to its final answer: resolve tools, then model turns and tool calls until the
 * model answers. What comes next is decided by `next-step.ts`; this file carries it out, tells readers
 * of it and ends the run. All input and output of a run happens in activities.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  defineQuery,
  isCancellation,
  setCurrentDetails,
  setHandler,
  TemporalFailure,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { ModelTurnInput } from '../activities/activity-types.ts';
import type { ChatMessage } from '../contracts/chat-messages.ts';
import type { Handle } from '../contracts/ids.ts';
import {
  memoTextLimit,
  runFailureTypes,
  runMemoKey,
  searchAttributes,
  toolsQuery,
  transcriptQuery,
} from '../contracts/run-names.ts';
import type { RunInput, RunResult } from '../contracts/run.ts';
import type { ListedTool } from '../contracts/tool-listing.ts';
import { endReport, listingActivities, modelActivities, quickEndReport } from './activity-stubs.ts';
import { openApprovalDesk } from './approval-desk.ts';
import { openBudgetDesk } from './budget-desk.ts';
import { cancelReason } from './cancel-reason.ts';
import { continueRun, isContinuationDue } from './continue-run.ts';
import { isContinuation, readContinuation } from './continuation.ts';
import { advance } from './next-step.ts';
import type { Advance, LastResult, Step } from './next-step.ts';
import { readInput } from './read-input.ts';
import { detailsOf, endRun, memoOf, startRun, statusOf } from './run-state.ts';
import type { RunState } from './run-state.ts';
import { runTools } from './run-tools.ts';
import { cutText } from './text.ts';
import { readableTranscript } from './transcript.ts';
import { workflowNowMs } from './workflow-clock.ts';

const transcriptOf = defineQuery<readonly ChatMessage[], [number?]>(transcriptQuery);
const toolsOf = defineQuery<readonly ListedTool[]>(toolsQuery);
const statusAttribute = defineSearchAttributeKey(searchAttributes.status, 'KEYWORD');

/**
 * @returns the final answer. A run that fails ends as Failed, a cancelled one as Cancelled; the memo
 * holds its reason, its counters and its last text.
 */
export async function agentRun(given: unknown): Promise<RunResult> {
  const begun = beginRun(given);
  let { state } = begun;
  setHandler(transcriptOf, (upTo) => messagesOf(state, upTo));
  setHandler(toolsOf, () => state.tools);
  let shown = workflowInfo().typedSearchAttributes.get(statusAttribute);
  const publish = (): void => {
    publishState(state, statusOf(state) !== shown);
    shown = statusOf(state);
  };
  const publishSoon = once(publish);
  const budget = openBudgetDesk({
    read: () => state,
    write(account) {
      state = { ...state, budget: account };
    },
    publish,
  });
  const desk = openApprovalDesk({
    run: state.handle,
    read: () => state.approvals,
    write(approvals) {
      state = { ...state, approvals };
      publishSoon();
      if (approvals.open.length > 0) budget.giveBack();
    },
  });
  const conclude = async (...end: [End['status'] | 'Completed', string | null]): Promise<void> => {
    state = endRun(state, ...end);
    await budget.close(state.reason);
    publish();
    await reportEnd(state);
  };
  if (!isToldOf() || statusOf(state) !== shown) publish();
  try {
    let last: LastResult = begun.continued
      ? { kind: 'continued' }
      : { kind: 'tools-resolved', tools: await resolveTools(state.input) };
    for (;;) {
      const next: Advance = advance(state, last);
      ({ state } = next);
      const { step } = next;
      switch (step.kind) {
        case 'run-turn':
          await budget.told();
          if (isContinuationDue()) await continueRun(() => state);
          await budget.reserveTurn();
          publish();
          last = { kind: 'turn', turn: await runTurn(state, step.turn, step.offerTools) };
          budget.settleTurn(last.turn, state.transcript);
          break;
        case 'run-tools':
          await budget.reserveCalls(step.calls.length);
          showDetails(state);
          last = { kind: 'tools', answers: await runTools(step.calls, { ...roundOf(state), desk }) };
          break;
        case 'finish':
          await conclude('Completed', null);
          return resultOf(state, step);
        case 'fail':
          throw ApplicationFailure.nonRetryable(step.reason, step.type);
      }
    }
  } catch (error) {
    const end = describeEnd(error, budget.reason());
    if (end === null) throw error;
    await conclude(end.status, end.reason);
    throw end.failure;
  }
}

/** A last reply may take the whole over what a query can answer; a turn asks for what was fitted before. */
function messagesOf({ transcript }: RunState, upTo?: number): readonly ChatMessage[] {
  return upTo === undefined ? readableTranscript(transcript).messages : transcript.messages.slice(0, upTo);
}

function resultOf(
  { counters, budget }: RunState,
  { text, cut }: Extract<Step, { kind: 'finish' }>,
): RunResult {
  return { text, cut, counters, spent: budget?.used ?? null };
}

/** A run from its first input, or as the execution before this one left it. */
function beginRun(given: unknown): { readonly state: RunState; readonly continued: boolean } {
  const { workflowId, startTime } = workflowInfo();
  const handle = workflowId as Handle;
  const continued = isContinuation(given);
  const read = continued ? readContinuation(given, handle) : readInput(given);
  if (read.kind === 'faults') {
    throw ApplicationFailure.nonRetryable(
      cutText(`this run's input cannot be used: ${read.faults.join('; ')}`, memoTextLimit),
      runFailureTypes.invalidInput,
    );
  }
  const state = 'state' in read ? read.state : startRun(handle, read.input, startTime.getTime());
  return { state, continued };
}

/** A tool that calls should wait for and that is not there may be another one misspelt: the run fails. */
async function resolveTools({ tools, approveTools, maxToolCalls }: RunInput): Promise<readonly ListedTool[]> {
  if (tools !== null && tools.length === 0) return [];
  if (maxToolCalls === 0) return [];
  const named = [...new Set([...(tools ?? []), ...approveTools])];
  const listing = await listingActivities.listTools(tools === null ? null : named);
  const missing = named.filter((name) => !listing.tools.some((tool) => tool.name === name));
  if (missing.length === 0) return listing.tools.filter(({ name }) => tools?.includes(name) ?? true);
  const warnings = listing.warnings.length === 0 ? '' : ` (${listing.warnings.join('; ')})`;
  throw ApplicationFailure.nonRetryable(
    `these tools are not to be had: ${missing.join(', ')}${warnings}`,
    runFailureTypes.tools,
  );
}

async function runTurn(state: RunState, turn: number, offerTools: boolean) {
  const { input, transcript } = state;
  const turnInput: ModelTurnInput = {
    turn,
    model: state.model,
    class: input.class,
    caller: input.caller,
    ...(input.traceparent === undefined ? {} : { traceparent: input.traceparent }),
    maxTokens: input.maxTokens,
    offerTools,
    transcript: { length: transcript.messages.length, digest: transcript.digest },
    toolsDigest: state.toolsDigest,
    ...(transcript.droppedRounds === 0 ? {} : { ownCallIds: true }),
  };
  const summary = `turn ${turn}: ${state.model ?? 'first model of the pool'}`;
  return await modelActivities.modelTurn.executeWithOptions({ summary }, [turnInput]);
}

function roundOf({ model, input: { parallelToolCalls, approveTools } }: RunState) {
  return { parallel: parallelToolCalls, approveTools, model };
}

/** Does `work` once for all who ask in the same breath: a batch of calls opens its approvals together. */
function once(work: () => void): () => void {
  let due = false;
  return () => {
    if (due) return;
    due = true;
    void Promise.resolve().then(() => {
      due = false;
      work();
    });
  };
}

/** Whether whoever spawned the run has told of it. */
function isToldOf(): boolean {
  return workflowInfo().memo?.[runMemoKey] !== undefined;
}

/** Enough when tools begin: readers see them among Temporal's open activities, and an upsert costs a lot. */
function showDetails(state: RunState): void {
  setCurrentDetails(detailsOf(state));
}

/** Upserts the memo, and the status attribute only when it `changed`: each costs an event. */
function publishState(state: RunState, changed: boolean): void {
  upsertMemo({ [runMemoKey]: memoOf(state, workflowNowMs()) });
  showDetails(state);
  if (changed) upsertSearchAttributes([{ key: statusAttribute, value: statusOf(state) }]);
}

/** Tells the proxy that the run is over; a run ends even when nobody can be told. */
async function reportEnd(state: RunState): Promise<void> {
  const { reportRunEnded } = state.status === 'Completed' ? quickEndReport : endReport;
  try {
    await CancellationScope.nonCancellable(() => reportRunEnded(state.handle));
  } catch (error) {
    // A local activity fails without the wrapping of an ActivityFailure.
    if (!(error instanceof TemporalFailure)) throw error;
  }
}

interface End {
  readonly status: 'Failed' | 'Cancelled';
  readonly reason: string;
  readonly failure: Error;
}

/** How an error ends the run; null: a fault in this code, which must not end it. */
function describeEnd(error: unknown, budgetReason: string | null): End | null {
  if (isCancellation(error)) {
    const reason = cutText(budgetReason ?? cancelReason() ?? 'cancelled by request', memoTextLimit);
    return { status: 'Cancelled', reason, failure: new CancelledFailure(reason) };
  }
  const cause = error instanceof ActivityFailure ? (error.cause ?? error) : error;
  if (!(cause instanceof TemporalFailure)) return null;
  const reason = cutText(cause.message, memoTextLimit);
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  const failure = ApplicationFailure.nonRetryable(reason, type ?? runFailureTypes.model);
  return { status: 'Failed', reason, failure };
}
