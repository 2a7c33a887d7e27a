/**
 * Keeps the reason that a cancel request carries. The SDK hands workflows the cancel without it, but an
 * internals interceptor sees each activation; the bundle lists this file as an interceptor module.
 */
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

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
          const given = job.cancelWorkflow?.reason?.trim();
          if (given !== undefined && given !== '') reason ??= given;
        }
        return next(input);
      },
    },
  ],
});
