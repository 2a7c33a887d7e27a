/** Asks Temporal to cancel a run; the run's own workflow ends it in order. */
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { Handle } from '../contracts/ids.ts';
import { isFinal, type RunStatus } from '../contracts/run.ts';
import type { Asker } from './asker.ts';
import { unknownHandle, type RunReader } from './run-reader.ts';
import { grpcStatusOf, type TemporalLink } from './temporal-link.ts';

export interface CancelOutcome {
  readonly handle: Handle;
  /** Runs that were asked to end; 0 when it had ended already. */
  readonly reached: number;
  /** As it was when the request came. */
  readonly status: RunStatus;
}

const notFound = 5;

/**
 * @param reason kept in the run's history, where Temporal shows it.
 * @throws UserFault for an unknown handle.
 */
export async function cancelRun(
  deps: { readonly temporal: TemporalLink; readonly reader: RunReader },
  handle: Handle,
  reason: string | undefined,
  asker: Asker,
): Promise<CancelOutcome> {
  const found = await deps.reader.find(handle, asker);
  if (found === null) throw unknownHandle(handle);
  const { status } = found.view;
  if (isFinal(status)) return { handle, reached: 0, status };
  try {
    await deps.temporal.call(async (client) => {
      // The handle's own cancel() cannot carry a reason.
      await client.workflowService.requestCancelWorkflowExecution({
        namespace: client.options.namespace,
        identity: client.options.identity,
        requestId: randomUUID(),
        workflowExecution: { workflowId: handle },
        reason: reason ?? 'cancelled by its caller',
      });
    });
    return { handle, reached: 1, status };
  } catch (error) {
    const gone = error instanceof WorkflowNotFoundError || grpcStatusOf(error)?.code === notFound;
    if (!gone) throw error;
    // It ended between the look and the request.
    const now = await deps.reader.find(handle, asker);
    return { handle, reached: 0, status: now?.view.status ?? status };
  }
}
