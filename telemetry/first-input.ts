/** Reads what a workflow execution was started with: the first event of its history, one short call. */
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { ReadRunInput } from './run-traces.ts';

/** A span is not worth a longer wait. */
const withinMs = 2_000;

export function firstInputReader(client: Client): ReadRunInput {
  return async (workflowId, runId) => {
    const { history } = await client.withDeadline(
      Date.now() + withinMs,
      async () =>
        await client.workflowService.getWorkflowExecutionHistory({
          namespace: client.options.namespace,
          execution: { workflowId, ...(runId === null ? {} : { runId }) },
          maximumPageSize: 1,
        }),
    );
    const payload = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
    if (payload === undefined || payload === null) throw new Error(`${workflowId} has no input`);
    return defaultPayloadConverter.fromPayload(payload);
  };
}
