/**
 * Gives the cancel requests that a workflow sends a reason, which the SDK has no argument for: whoever is
 * about to cancel names the reason first, and the commands are given it on their way out. The bundle
 * lists this file as an interceptor module.
 */
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

const reasons = new Map<string, string>();
const childIds = new Map<number, string>();

/** The reason of all later cancel requests of this workflow to `workflowId`. */
export function nameCancelReason(workflowId: string, reason: string): void {
  reasons.set(workflowId, reason);
}

export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      async startChildWorkflowExecution(input, next) {
        const { workflowId } = input.options;
        if (workflowId !== undefined) childIds.set(input.seq, workflowId);
        return await next(input);
      },
    },
  ],
  internals: [
    {
      concludeActivation(input, next) {
        for (const {
          cancelChildWorkflowExecution,
          requestCancelExternalWorkflowExecution,
        } of input.commands) {
          if (cancelChildWorkflowExecution) {
            const id = childIds.get(cancelChildWorkflowExecution.childWorkflowSeq ?? -1);
            cancelChildWorkflowExecution.reason = reasons.get(id ?? '') ?? '';
          }
          if (requestCancelExternalWorkflowExecution) {
            const id = requestCancelExternalWorkflowExecution.workflowExecution?.workflowId ?? '';
            requestCancelExternalWorkflowExecution.reason = reasons.get(id) ?? '';
          }
        }
        return next(input);
      },
    },
  ],
});
