/** Runs the calls of one reply, one after the other or side by side, and answers each in call order. */
import { ActivityFailure, isCancellation } from '@temporalio/workflow';
import { onceActivities, repeatableActivities, repeatableAttempts } from './activity-stubs.ts';
import type { AnsweredCall, PlannedCall } from './next-step.ts';

/** @throws CancelledFailure when the run is cancelled; any other failure becomes the call's answer. */
export async function runTools(calls: readonly PlannedCall[], parallel: boolean): Promise<AnsweredCall[]> {
  if (parallel) return await Promise.all(calls.map(runCall));
  const answers: AnsweredCall[] = [];
  for (const call of calls) answers.push(await runCall(call));
  return answers;
}

async function runCall(call: PlannedCall): Promise<AnsweredCall> {
  if (call.kind === 'refuse') return { id: call.id, content: call.text, failed: true, toolMs: 0 };
  const { tool } = call;
  const repeatable = tool.annotations.readOnlyHint === true || tool.annotations.idempotentHint === true;
  const { callTool } = repeatable ? repeatableActivities : onceActivities;
  try {
    const result = await callTool.executeWithOptions({ summary: call.name }, [
      {
        callId: call.id,
        server: tool.server,
        serverTool: tool.serverTool,
        arguments: call.arguments,
        attempts: repeatable ? repeatableAttempts : 1,
      },
    ]);
    return { id: call.id, ...result };
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { id: call.id, content: lostCall(call.name), failed: true, toolMs: 0 };
  }
}

function lostCall(name: string): string {
  return `Error: the outcome of this call is unknown: the worker that ran ${name} was lost before it answered. The call may or may not have taken effect, and it was not repeated. Check before you call it again.`;
}
