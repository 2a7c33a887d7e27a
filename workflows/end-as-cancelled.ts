/**
 * Lets a workflow that ends itself end as Cancelled. The SDK does so only when somebody else has asked for
 * the cancel; without that, a CancelledFailure would count as a failure. The command it writes then is
 * replaced on its way out. The bundle lists this file as an interceptor module.
 */
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

let asked = false;

/** From now on this workflow ends as Cancelled when it ends with a CancelledFailure. */
export function endAsCancelled(): void {
  asked = true;
}

export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      concludeActivation(input, next) {
        if (!asked) return next(input);
        const commands = input.commands.map((command) =>
          command.failWorkflowExecution?.failure?.canceledFailureInfo
            ? { cancelWorkflowExecution: {} }
            : command,
        );
        return next({ ...input, commands });
      },
    },
  ],
});
