/**
 * Everything a run remembers between two steps, as one plain value: it can be carried over to a next
 * workflow execution as it is. Pure.
 */
import type { ChatMessage } from '../contracts/chat-messages.ts';
import type { Handle } from '../contracts/ids.ts';
import { memoTextLimit, zeroCounters } from '../contracts/run-names.ts';
import type { RunCounters, RunInput, RunMemo, RunStatus } from '../contracts/run.ts';
import type { ListedTool } from '../contracts/tool-listing.ts';
import { textDigest } from '../contracts/transcript-digest.ts';
import { approvalLines } from './approval-lines.ts';
import { latestDecisions, listedApprovals, noApprovals } from './approvals.ts';
import type { Approvals } from './approvals.ts';
import { isAsking, openAccount, viewAccount } from './budget/account.ts';
import type { BudgetAccount } from './budget/account.ts';
import { cutText, firstLine } from './text.ts';
import { appendMessages, emptyTranscript } from './transcript.ts';
import type { Transcript } from './transcript.ts';

export interface RunState {
  readonly handle: Handle;
  /** When its first workflow execution started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly input: RunInput;
  /** null until the first turn has settled it. */
  readonly model: string | null;
  readonly tools: readonly ListedTool[];
  /** `textDigest` of the JSON of `tools`. */
  readonly toolsDigest: string;
  readonly transcript: Transcript;
  readonly counters: RunCounters;
  /** How often the model asked for each name that is no tool. */
  readonly unknownNames: Readonly<Record<string, number>>;
  readonly approvals: Approvals;
  /** null: no budget binds it. */
  readonly budget: BudgetAccount | null;
  /** `statusOf` and `phaseOf` tell what readers see while calls wait for approval. */
  readonly status: Exclude<RunStatus, 'AwaitingApproval'>;
  readonly phase: string;
  readonly reason: string | null;
}

/** A run before its first step. */
export function startRun(handle: Handle, input: RunInput, startedAtMs: number): RunState {
  const opening: ChatMessage[] = [];
  if (input.system !== undefined) opening.push({ role: 'system', content: input.system });
  opening.push({ role: 'user', content: input.task });
  return {
    handle,
    startedAtMs,
    input,
    model: input.model,
    tools: [],
    toolsDigest: textDigest('[]'),
    transcript: appendMessages(emptyTranscript, opening),
    counters: zeroCounters,
    unknownNames: {},
    approvals: noApprovals,
    budget: openAccount(handle, input.budget ?? null, input.allowance ?? null, startedAtMs),
    status: 'Running',
    phase: 'starting',
    reason: null,
  };
}

/** The run after its end. */
export function endRun(
  state: RunState,
  status: 'Completed' | 'Failed' | 'Cancelled',
  reason: string | null,
): RunState {
  return {
    ...state,
    status,
    approvals: { ...state.approvals, open: [] },
    phase: 'ended',
    reason: reason === null ? null : cutText(reason, memoTextLimit),
  };
}

export function statusOf({ status, approvals }: RunState): RunStatus {
  return status === 'Running' && approvals.open.length > 0 ? 'AwaitingApproval' : status;
}

function phaseOf({ phase, approvals, budget }: RunState): string {
  if (budget !== null && isAsking(budget)) return 'waiting for its share of the budget';
  if (approvals.open.length === 0) return phase;
  const tools = new Set(approvals.open.map(({ tool }) => tool));
  return cutText(`waiting for approval: ${[...tools].join(', ')}`, 200);
}

/**
 * What readers see of the run. The last text of the model goes along only when the run did not complete.
 * @param nowMs milliseconds since the epoch; absent: the run is about to start.
 */
export function memoOf(state: RunState, nowMs: number = state.startedAtMs): RunMemo {
  const unfinished = state.status === 'Failed' || state.status === 'Cancelled';
  return {
    status: statusOf(state),
    phase: phaseOf(state),
    summary: firstLine(state.input.task, 200),
    model: state.model,
    class: state.input.class,
    caller: state.input.caller,
    root: state.input.root ?? state.handle,
    parent: state.input.parent ?? null,
    startedAt: new Date(state.startedAtMs).toISOString(),
    counters: state.counters,
    reason: state.reason,
    partial: unfinished ? lastText(state.transcript.messages) : null,
    pendingApprovals: listedApprovals(state.approvals),
    decidedApprovals: latestDecisions(state.approvals),
    budget: viewAccount(state.budget, nowMs),
    spent: state.budget?.used ?? null,
  };
}

/** A short state in Markdown, for Temporal's own pages. */
export function detailsOf(state: RunState): string {
  const { counters } = state;
  const lines = [
    `**${statusOf(state)}**: ${phaseOf(state)}${state.reason === null ? '' : `: ${state.reason}`}`,
    '',
    // Temporal forgets the summary of a workflow that continues as new.
    `- ${firstLine(state.input.task, 200)}`,
    `- model ${state.model ?? '(first of the pool)'}, class ${state.input.class}, caller ${state.input.caller}`,
    `- ${counters.turns} turns, ${counters.toolCalls} of ${state.input.maxToolCalls} tool calls, ${counters.failedToolCalls} failed`,
    `- ${counters.promptTokens} prompt tokens (${counters.cachedTokens} cached), ${counters.completionTokens} completion tokens`,
    `- ${counters.modelMs} ms model, ${counters.toolMs} ms tools, ${counters.heldMs} ms held`,
  ];
  return [...lines, ...approvalLines(state.approvals)].join('\n');
}

function lastText(messages: readonly ChatMessage[]): string | null {
  const last = messages.findLast(
    (message) => message.role === 'assistant' && (message.content ?? '').trim() !== '',
  );
  return last === undefined ? null : cutText(last.content ?? '', memoTextLimit);
}
