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
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { ModelTurnInput } from '../activities/activity-types.ts';
import type { ChatMessage } from '../contracts/chat-messages.ts';
import type { Handle } from '../contracts/ids.ts';
import {
  runFailureTypes,
  runMemoKey,
  searchAttributes,
  toolsQuery,
  transcriptQuery,
} from '../contracts/run-names.ts';
import type { RunInput, RunResult } from '../contracts/run.ts';
import type { ListedTool } from '../contracts/tool-listing.ts';
import { endReport, listingActivities, modelActivities, quickEndReport } from './activity-stubs.ts';
import { cancelReason } from './cancel-reason.ts';
import { advance } from './next-step.ts';
import type { Advance, LastResult } from './next-step.ts';
import { readInput } from './read-input.ts';
import { detailsOf, endRun, memoOf, startRun } from './run-state.ts';
import type { RunState } from './run-state.ts';
import { runTools } from './run-tools.ts';

const transcriptOf = defineQuery<readonly ChatMessage[], [number?]>(transcriptQuery);
const toolsOf = defineQuery<readonly ListedTool[]>(toolsQuery);
const statusAttribute = defineSearchAttributeKey(searchAttributes.status, 'KEYWORD');

/**
 * @returns the final answer. A run that fails ends as Failed, a cancelled one as Cancelled; the memo
 * holds its reason, its counters and its last text.
 */
export async function agentRun(given: unknown): Promise<RunResult> {
  let state = startRun(workflowInfo().workflowId as Handle, parseInput(given));
  setHandler(transcriptOf, (upTo) => state.transcript.messages.slice(0, upTo));
  setHandler(toolsOf, () => state.tools);
  publish(state, workflowInfo().typedSearchAttributes.get(statusAttribute) !== state.status);
  try {
    let last: LastResult = { kind: 'tools-resolved', tools: await resolveTools(state.input) };
    for (;;) {
      const next: Advance = advance(state, last);
      ({ state } = next);
      const { step } = next;
      switch (step.kind) {
        case 'run-turn':
          publish(state);
          last = { kind: 'turn', turn: await runTurn(state, step.turn, step.offerTools) };
          break;
        case 'run-tools':
          publish(state);
          last = { kind: 'tools', answers: await runTools(step.calls, state.input.parallelToolCalls) };
          break;
        case 'finish':
          state = endRun(state, 'Completed', null);
          publish(state, true);
          await reportEnd(state);
          return { text: step.text, cut: step.cut, counters: state.counters };
        case 'fail':
          throw ApplicationFailure.nonRetryable(step.reason, step.type);
      }
    }
  } catch (error) {
    const end = describeEnd(error);
    if (end === null) throw error;
    state = endRun(state, end.status, end.reason);
    publish(state, true);
    await reportEnd(state);
    throw end.failure;
  }
}

function parseInput(given: unknown): RunInput {
  const read = readInput(given);
  if (read.kind === 'ok') return read.input;
  throw ApplicationFailure.nonRetryable(
    `this run's input cannot be used: ${read.faults.join('; ')}`,
    runFailureTypes.invalidInput,
  );
}

async function resolveTools(input: RunInput): Promise<readonly ListedTool[]> {
  if (input.tools !== null && input.tools.length === 0) return [];
  if (input.maxToolCalls === 0) return [];
  const listing = await listingActivities.listTools(input.tools);
  const missing = (input.tools ?? []).filter((name) => !listing.tools.some((tool) => tool.name === name));
  if (missing.length === 0) return listing.tools;
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
  };
  const summary = `turn ${turn}: ${state.model ?? 'first model of the pool'}`;
  return await modelActivities.modelTurn.executeWithOptions({ summary }, [turnInput]);
}

/** Upserts the memo, and the status attribute only when it `changed`: each costs an event. */
function publish(state: RunState, changed = false): void {
  upsertMemo({ [runMemoKey]: memoOf(state) });
  setCurrentDetails(detailsOf(state));
  if (changed) upsertSearchAttributes([{ key: statusAttribute, value: state.status }]);
}

/** Tells the proxy that the run is over; a run ends even when nobody can be told. */
async function reportEnd(state: RunState): Promise<void> {
  const { reportRunEnded } = state.status === 'Completed' ? quickEndReport : endReport;
  try {
    await CancellationScope.nonCancellable(() => reportRunEnded(state.handle));
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
  }
}

interface End {
  readonly status: 'Failed' | 'Cancelled';
  readonly reason: string;
  readonly failure: Error;
}

/** How an error ends the run; null: a fault in this code, which must not end it. */
function describeEnd(error: unknown): End | null {
  if (isCancellation(error)) {
    const reason = cancelReason() ?? 'cancelled by request';
    return { status: 'Cancelled', reason, failure: new CancelledFailure(reason) };
  }
  if (error instanceof ApplicationFailure) {
    return { status: 'Failed', reason: error.message, failure: error };
  }
  if (error instanceof ActivityFailure) {
    const { cause } = error;
    const reason = cause?.message ?? error.message;
    const type = cause instanceof ApplicationFailure ? cause.type : undefined;
    return {
      status: 'Failed',
      reason,
      failure: ApplicationFailure.nonRetryable(reason, type ?? runFailureTypes.model),
    };
  }
  return null;
}
