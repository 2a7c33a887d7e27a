/**
 * Runs the calls of one reply, one after the other or side by side, and answers each in call order. A
 * call that needs the user is run when it is allowed, with the very arguments that were asked about;
 * side by side, the others do not wait for it.
 */
import { ActivityFailure, isCancellation } from '@temporalio/workflow';
import { callActivityId } from '../contracts/run-names.ts';
import { onceActivities, repeatableActivities, repeatableAttempts } from './activity-stubs.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import { declinedText, needsApproval } from './approvals.ts';
import type { AnsweredCall, PlannedCall } from './next-step.ts';

export interface ToolRound {
  /** Whether the calls run side by side. */
  readonly parallel: boolean;
  /** Who gets the results. */
  readonly model: string | null;
  /** Tools whose calls wait for the user, whatever their annotations say. */
  readonly approveTools: readonly string[];
  readonly desk: ApprovalDesk;
}

/** @throws CancelledFailure when the run is cancelled; any other failure becomes the call's answer. */
export async function runTools(calls: readonly PlannedCall[], round: ToolRound): Promise<AnsweredCall[]> {
  if (round.parallel) return await Promise.all(calls.map((call, index) => answerCall(call, index, round)));
  const answers: AnsweredCall[] = [];
  for (const [index, call] of calls.entries()) answers.push(await answerCall(call, index, round));
  return answers;
}

async function answerCall(call: PlannedCall, index: number, round: ToolRound): Promise<AnsweredCall> {
  if (call.kind === 'refuse') return failed(call.id, call.text);
  const allowed = !needsApproval(call.tool, round.approveTools) || (await round.desk.ask(call));
  return allowed
    ? await runCall(call, callActivityId(call.name, index), round.model)
    : failed(call.id, declinedText);
}

async function runCall(
  call: Extract<PlannedCall, { kind: 'run' }>,
  activityId: string,
  model: string | null,
): Promise<AnsweredCall> {
  const { tool } = call;
  const repeatable = tool.annotations.readOnlyHint === true || tool.annotations.idempotentHint === true;
  const { callTool } = repeatable ? repeatableActivities : onceActivities;
  try {
    const result = await callTool.executeWithOptions({ summary: call.name, activityId }, [
      {
        callId: call.id,
        model,
        server: tool.server,
        serverTool: tool.serverTool,
        arguments: call.arguments,
        attempts: repeatable ? repeatableAttempts : 1,
      },
    ]);
    return { id: call.id, ...result };
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return failed(call.id, lostCall(call.name));
  }
}

function failed(id: string, content: string): AnsweredCall {
  return { id, content, failed: true, toolMs: 0 };
}

function lostCall(name: string): string {
  return `Error: the outcome of this call is unknown: the worker that ran ${name} was lost before it answered. The call may or may not have taken effect, and it was not repeated. Check before you call it again.`;
}
