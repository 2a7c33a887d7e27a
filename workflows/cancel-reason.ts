/**
 * Keeps the reason that a cancel request carries. The SDK hands workflows the cancel without it, but an
 * internals interceptor sees each activation; the bundle lists this file as an interceptor module.
 */
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** What Temporal's core puts before the reason when one workflow asks another one by its id. */
const sender = /^Cancel requested by workflow with run id \S+(?: with reason: |$)/;

let reason: string | null = null;

/** Reason of the first cancel request of this workflow execution; null when it carried none. */
export function cancelReason(): string | null {
  return reason;
}

export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      activate(input, next) {
        for (const job of input.activation.jobs ?? []) {
          const given = job.cancelWorkflow?.reason?.replace(sender, '').trim();
          if (given !== undefined && given !== '') reason ??= given;
        }
        return next(input);
      },
    },
  ],
});
