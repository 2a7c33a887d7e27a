/**
 * What is told of a run: its memo, put right by Temporal's own view, which wins wherever the two
 * disagree (a terminated run's memo still says Running). Pure.
 */
import { handleSchema, type Handle } from '../../contracts/ids.ts';
import {
  isFinal,
  runMemoKey,
  runMemoSchema,
  runResultSchema,
  workflowTypes,
  zeroCounters,
  type DecidedApproval,
  type PendingApproval,
  type RunBudget,
  type RunCounters,
  type RunMemo,
  type RunStatus,
} from '../../contracts/run.ts';
import type { ServiceClass } from '../../contracts/service-class.ts';

/** The part of a workflow's description that is read here. */
export interface ExecutionView {
  readonly workflowId: string;
  readonly type: string;
  readonly status: { readonly name: string };
  readonly startTime: Date;
  readonly closeTime?: Date | undefined;
  readonly memo?: Record<string, unknown> | undefined;
  /** Tools whose calls are under way, where that was asked: the memo tells of turns only. */
  readonly openCalls?: readonly string[] | undefined;
}

/** How Temporal says a run ended: what the workflow returned, or the words of its failure. */
export type RunEnd =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly message: string };

export interface RunView {
  readonly handle: Handle;
  readonly status: RunStatus;
  /** What it does now: `model turn 3`, `tools: lookup`; `ended`. */
  readonly phase: string;
  /** First line of the task. */
  readonly summary: string;
  readonly model: string | null;
  readonly class: ServiceClass | null;
  readonly caller: string | null;
  readonly root: Handle;
  readonly parent: Handle | null;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** The final answer; null unless the run completed and its end was asked for. */
  readonly result: string | null;
  /** The engine stopped at `maxTokens`: the result may end in mid-sentence. */
  readonly cutAtMaxTokens: boolean;
  /** Why it failed or was cancelled. */
  readonly reason: string | null;
  /** Last text of a run that did not complete. */
  readonly partial: string | null;
  readonly counters: RunCounters;
  /** Open ones; none once it has ended. */
  readonly pendingApprovals: readonly PendingApproval[];
  /** The latest decisions, newest last. */
  readonly decidedApprovals: readonly DecidedApproval[];
  readonly budget: RunBudget | null;
}

/** Whether Temporal counts the execution as closed. */
export function isClosed(execution: Pick<ExecutionView, 'status'>): boolean {
  return ['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT'].includes(execution.status.name);
}

function statusOf(execution: ExecutionView, memo: RunMemo | null): RunStatus {
  switch (execution.status.name) {
    case 'COMPLETED':
      return 'Completed';
    case 'CANCELLED':
      return 'Cancelled';
    case 'FAILED':
    case 'TERMINATED':
    case 'TIMED_OUT':
      return 'Failed';
    default:
      return memo === null || isFinal(memo.status) ? 'Running' : memo.status;
  }
}

function reasonOf(execution: ExecutionView, memo: RunMemo | null, status: RunStatus, end: RunEnd | null) {
  if (!isFinal(status) || status === 'Completed') return null;
  const told = end?.kind === 'failed' ? end.message : null;
  switch (execution.status.name) {
    case 'TERMINATED':
      return `terminated in Temporal${told === null ? '' : `: ${told}`}`;
    case 'TIMED_OUT':
      return 'timed out in Temporal';
    default:
      if (memo !== null && memo.status === status && memo.reason !== null) return memo.reason;
      return told ?? (status === 'Cancelled' ? 'cancelled' : 'failed; its history in Temporal says why');
  }
}

function phaseOf({ openCalls = [] }: ExecutionView, memo: RunMemo | null, status: RunStatus): string {
  if (isFinal(status)) return 'ended';
  if (status === 'Running' && openCalls.length > 0) return `tools: ${openCalls.join(', ').slice(0, 200)}`;
  return memo?.phase ?? 'unknown';
}

/**
 * The view of an execution, with its end where it is known; null when the workflow is not a run.
 * @param end absent: the final answer is not told, and a reason only as far as the memo knows it.
 */
export function viewRun(execution: ExecutionView, end: RunEnd | null = null): RunView | null {
  const handle = handleSchema.safeParse(execution.workflowId);
  if (execution.type !== workflowTypes.agentRun || !handle.success) return null;
  const parsed = runMemoSchema.safeParse(execution.memo?.[runMemoKey]);
  const memo = parsed.success ? parsed.data : null;
  const returned = runResultSchema.safeParse(end?.kind === 'returned' ? end.value : undefined);
  const status = statusOf(execution, memo);
  const ended = isFinal(status);
  return {
    handle: handle.data,
    status,
    phase: phaseOf(execution, memo, status),
    summary: memo?.summary ?? '',
    model: memo?.model ?? null,
    class: memo?.class ?? null,
    caller: memo?.caller ?? null,
    root: memo?.root ?? handle.data,
    parent: memo?.parent ?? null,
    startedAt: memo?.startedAt ?? execution.startTime.toISOString(),
    endedAt: execution.closeTime?.toISOString() ?? null,
    result: status === 'Completed' && returned.success ? returned.data.text : null,
    cutAtMaxTokens: returned.success && returned.data.cut,
    reason: reasonOf(execution, memo, status, end),
    partial: status === 'Failed' || status === 'Cancelled' ? (memo?.partial ?? null) : null,
    counters: returned.success ? returned.data.counters : (memo?.counters ?? zeroCounters),
    pendingApprovals: ended ? [] : (memo?.pendingApprovals ?? []),
    decidedApprovals: memo?.decidedApprovals ?? [],
    budget: memo?.budget ?? null,
  };
}
