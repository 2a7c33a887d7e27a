/**
 * The tool call activity: one checked call at its tool server. What goes wrong becomes an answer for the
 * model; it throws only after a cancel, and where another attempt is allowed and worth it.
 */
import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import type { CallToolInput, CallToolResult } from './activity-types.ts';
import { isWorkerStoppingFailure, withHeartbeat } from './heartbeat.ts';
import type { TranscriptCache } from './model-turn/transcript-cache.ts';
import type { ImageUse } from './tool-calls/read-image.ts';
import {
  errorText,
  hasImages,
  renderResult,
  type RenderedResult,
  type ToolServerResult,
} from './tool-calls/render-result.ts';
import type { ToolRegistry } from './tool-servers/tool-registry.ts';
import { ToolServerError } from './tool-servers/call-failure.ts';

export interface CallToolDeps {
  readonly tools: ToolRegistry;
  readonly transcripts: TranscriptCache;
  /** null: it could not be asked. Never throws: the call has been made by then. */
  readonly takesImages: (model: string) => Promise<boolean | null>;
}

/** A call that must not be repeated gets this long to end after its worker was asked to stop. */
const finishWithinMs = 20_000;

export function createCallTool(deps: CallToolDeps): (input: CallToolInput) => Promise<CallToolResult> {
  return async (input) => {
    const { attempt, workflowExecution } = activityInfo();
    const runId = workflowExecution?.workflowId ?? '';
    const mayRepeat = input.attempts > 1;
    const startedMs = performance.now();
    const answer = await attemptCall(deps, input, runId, mayRepeat && attempt < input.attempts);
    deps.transcripts.answered(runId, input.callId, answer);
    return { ...answer, toolMs: Math.round(performance.now() - startedMs) };
  };
}

async function attemptCall(
  deps: CallToolDeps,
  input: CallToolInput,
  runId: string,
  repeatable: boolean,
): Promise<RenderedResult> {
  const call = {
    tool: input.serverTool,
    arguments: JSON.parse(input.arguments) as Record<string, unknown>,
    idempotencyKey: `${runId}:${input.callId}`,
    ...(input.traceparent === undefined ? {} : { traceparent: input.traceparent }),
  };
  try {
    return await withHeartbeat({ finishWithinMs: repeatable ? 0 : finishWithinMs }, async (signal) => {
      const result = await deps.tools.call(input.server, call, signal);
      return renderResult(result, await imageUse(deps, result, input.model));
    });
  } catch (error) {
    if (isWorkerStoppingFailure(error) && !repeatable) {
      return failed(unknownOutcome('the worker that ran it had to stop before it ended'));
    }
    if (!(error instanceof ToolServerError)) throw error;
    if (repeatable && error.outcome !== 'refused')
      throw ApplicationFailure.retryable(error.message, 'ToolServerFailed');
    return failed(error.outcome === 'unknown' ? unknownOutcome(error.message) : error.message);
  }
}

/** The pool is asked only where it matters. */
async function imageUse(
  deps: CallToolDeps,
  result: ToolServerResult,
  model: string | null,
): Promise<ImageUse> {
  if (!hasImages(result)) return 'not-taken';
  const takes = model === null ? null : await deps.takesImages(model);
  return takes === null ? 'unknown' : takes ? 'shown' : 'not-taken';
}

function failed(text: string): RenderedResult {
  return { content: errorText(text), failed: true };
}

function unknownOutcome(why: string): string {
  return `Error: the outcome of this call is unknown: ${why}. It may or may not have taken effect, and it was not repeated.`;
}
