/**
 * One page of Temporal's list of executions, with the token that goes on after it: the client's own list
 * hides that token, and a page that is asked for by one process must be gone on with by another.
 */
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { runMemoKey } from '../../contracts/run.ts';
import type { ExecutionView } from './run-view.ts';

export interface ExecutionPage {
  /** As Temporal orders them: those at work first, the latest start first; then the latest end first. */
  readonly executions: readonly ExecutionView[];
  /** null: nothing comes after it. */
  readonly next: Uint8Array | null;
}

/** Numbers of `temporal.api.enums.v1.WorkflowExecutionStatus`, with the client's names for them. */
const statusNames = new Map<unknown, string>([
  [1, 'RUNNING'],
  [2, 'COMPLETED'],
  [3, 'FAILED'],
  [4, 'CANCELLED'],
  [5, 'TERMINATED'],
  [6, 'CONTINUED_AS_NEW'],
  [7, 'TIMED_OUT'],
  [8, 'PAUSED'],
]);

interface Timestamp {
  readonly seconds?: { toNumber(): number } | null;
  readonly nanos?: number | null;
}

function dateOf(time: Timestamp | null | undefined): Date | undefined {
  if (time?.seconds === null || time?.seconds === undefined) return undefined;
  return new Date(time.seconds.toNumber() * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000));
}

/**
 * @param query Temporal's list filter.
 * @param after token of the page before; null: the first page.
 */
export async function listExecutions(
  client: Client,
  { query, pageSize, after }: { query: string; pageSize: number; after: Uint8Array | null },
): Promise<ExecutionPage> {
  const { executions, nextPageToken } = await client.workflowService.listWorkflowExecutions({
    namespace: client.options.namespace,
    query,
    pageSize,
    ...(after === null ? {} : { nextPageToken: after }),
  });
  return {
    executions: executions.map(({ execution, type, status, startTime, closeTime, memo }) => {
      const payload = memo?.fields?.[runMemoKey];
      return {
        workflowId: execution?.workflowId ?? '',
        type: type?.name ?? '',
        status: { name: statusNames.get(status) ?? 'UNKNOWN' },
        startTime: dateOf(startTime) ?? new Date(0),
        closeTime: dateOf(closeTime),
        memo:
          payload === undefined
            ? {}
            : { [runMemoKey]: defaultPayloadConverter.fromPayload<unknown>(payload) },
      };
    }),
    next: nextPageToken === null || nextPageToken.length === 0 ? null : nextPageToken,
  };
}
