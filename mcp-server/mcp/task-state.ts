/**
 * A run as a task of the extension `io.modelcontextprotocol/tasks` (2026-07-28): its id is the handle, and
 * its state is read from the run each time, so nothing of a task is kept here and it outlives every server. Pure.
 * Source: https://modelcontextprotocol.io/seps/2663-tasks-extension
 */
import type { CallToolResult, InputRequest } from '@modelcontextprotocol/server';
import { cutMiddle } from '../runs/fair-cut.ts';
import type { RunView } from '../runs/run-view.ts';
import { approvalQuestions, inputRequestsOf } from './approval-form.ts';
import { tellAwait } from './run-text.ts';

export const tasksExtension = 'io.modelcontextprotocol/tasks';

interface TaskBase {
  readonly taskId: string;
  readonly statusMessage: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** null: it is kept for as long as Temporal keeps its run. */
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
}

/** What `tasks/get` answers with. A run that failed is a completed task: its call did not fail, and told why. */
export type Task = TaskBase &
  (
    | { readonly status: 'working' | 'cancelled' }
    | { readonly status: 'input_required'; readonly inputRequests: Record<string, InputRequest> }
    | { readonly status: 'completed'; readonly result: CallToolResult }
  );

/** What `run` answers with in place of its result. */
export type CreatedTask = TaskBase & { readonly resultType: 'task'; readonly status: Task['status'] };

const pollIntervalMs = 1_000;
const messageBytes = 4_000;
/** More than the calls of one reply, so all that wait are told, as the extension wants it. */
const maxOpen = 64;

function messageOf(run: RunView): string {
  const { handle, status, phase, reason, partial, pendingApprovals } = run;
  switch (status) {
    case 'Running':
      return phase;
    case 'AwaitingApproval': {
      const tools = pendingApprovals.map(({ tool }) => tool).join(', ');
      return `waits for approval: ${tools}; answer the form, or call approve with handle ${handle}`;
    }
    case 'Completed':
      return 'completed';
    default:
      return `${reason ?? status}${partial === null ? '' : `\npartial text (the run did not complete):\n${partial}`}`;
  }
}

/**
 * @param run with its result, if it has ended.
 * @param showsForms whether the client that asks can put a form to its user.
 * @param now when the run was looked at.
 */
export function taskOf(run: RunView, showsForms: boolean, now: Date): Task {
  const base: TaskBase = {
    taskId: run.handle,
    statusMessage: cutMiddle(messageOf(run), messageBytes),
    createdAt: run.startedAt,
    lastUpdatedAt: run.endedAt ?? now.toISOString(),
    ttlMs: null,
    pollIntervalMs,
  };
  switch (run.status) {
    case 'Running':
      return { ...base, status: 'working' };
    case 'AwaitingApproval':
      return showsForms
        ? {
            ...base,
            status: 'input_required',
            inputRequests: inputRequestsOf(approvalQuestions([run], new Set(), maxOpen)),
          }
        : { ...base, status: 'working' };
    case 'Cancelled':
      return { ...base, status: 'cancelled' };
    case 'Completed':
    case 'Failed':
      return { ...base, status: 'completed', result: resultOf(run) };
  }
}

/** As `run` would have answered, in the form of 2026-07-28. */
function resultOf(run: RunView): CallToolResult {
  const { text, structured } = tellAwait({ done: true, runs: [run] });
  return { resultType: 'complete', content: [{ type: 'text', text }], structuredContent: structured };
}

/** @param notes of its start, which have no other place. */
export function createdTask(task: Task, notes: readonly string[]): CreatedTask {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs } = task;
  const message = [statusMessage, ...notes.map((note) => `note: ${note}`)].join('\n');
  return {
    resultType: 'task',
    taskId,
    status,
    statusMessage: message,
    createdAt,
    lastUpdatedAt,
    ttlMs,
    pollIntervalMs: task.pollIntervalMs,
  };
}
