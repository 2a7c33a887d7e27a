/**
 * The spans of a worker: `chat` for a model turn, `execute_tool` for a call, and at a run's end its own
 * `invoke_agent` (see `ended-runs.ts`). A turn or call has one span, however many attempts it takes: its id
 * follows from the run and the turn or call, and the attempt that settles it ends it. Proxy and tool server
 * get it as the parent of what they trace. Nothing that was said gets into a span.
 */
import { ApplicationFailure, CancelledFailure, type Info } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { formatTraceparent } from '../../contracts/trace-context.ts';
import { derivedSpanId } from '../../telemetry/derived-ids.ts';
import type { RunTrace, RunTraces } from '../../telemetry/run-traces.ts';
import type { Attributes, OpenSpan, Telemetry } from '../../telemetry/telemetry.ts';
import type {
  CallToolInput,
  CallToolResult,
  ModelTurnInput,
  ModelTurnResult,
  RunActivities,
} from '../activity-types.ts';

export interface ActivitySpansDeps {
  readonly telemetry: Telemetry;
  readonly traces: RunTraces;
  /** Called once the end of a run has been reported. */
  readonly onRunEnded: (handle: string, executionId: string) => void;
}

type Next = (args: unknown[]) => Promise<unknown>;

export function activitySpans(deps: ActivitySpansDeps): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const go: Next = async (args) => await next({ ...input, args });
        const execution = info.workflowExecution;
        if (execution === undefined) return await next(input);
        switch (info.activityType as keyof RunActivities) {
          case 'modelTurn':
            return await modelTurn(deps, info, input.args[0] as ModelTurnInput, go);
          case 'callTool':
            return await callTool(deps, info, input.args[0] as CallToolInput, go);
          case 'reportRunEnded':
            try {
              return await next(input);
            } finally {
              deps.onRunEnded(execution.workflowId, execution.runId);
            }
          default:
            return await next(input);
        }
      },
    },
  });
}

async function modelTurn(deps: ActivitySpansDeps, info: Info, input: ModelTurnInput, next: Next) {
  const run = await traceOf(deps, info, input.traceparent);
  if (run === null) return await next([input]);
  const span = deps.telemetry.start({
    name: input.model === null ? 'chat' : `chat ${input.model}`,
    kind: 'client',
    parent: run.context,
    spanId: derivedSpanId('turn', handleOf(info), input.turn),
    startMs: startOf(info),
    attributes: {
      ...ofRun('chat', info),
      'gen_ai.request.model': input.model,
      'gen_ai.request.max_tokens': input.maxTokens === 0 ? null : input.maxTokens,
      'fermata.turn': input.turn,
      'fermata.class': input.class,
      'fermata.caller': input.caller,
    },
  });
  return await settle(span, info, false, async () => {
    const result = (await next([
      { ...input, traceparent: formatTraceparent(span.context) },
    ])) as ModelTurnResult;
    return { result, attributes: ofTurn(result), error: null };
  });
}

function ofTurn(result: ModelTurnResult): Attributes {
  return {
    'gen_ai.response.model': result.model,
    'gen_ai.response.finish_reasons': result.finishReason === null ? null : [result.finishReason],
    'gen_ai.usage.input_tokens': result.promptTokens,
    'gen_ai.usage.output_tokens': result.completionTokens,
    'gen_ai.usage.cache_read.input_tokens': result.cachedTokens,
    'fermata.held_ms': result.heldMs,
    'fermata.model_ms': result.modelMs,
    'fermata.first_byte_ms': result.firstByteMs ?? null,
    'fermata.tool_calls': result.calls.length,
  };
}

async function callTool(deps: ActivitySpansDeps, info: Info, input: CallToolInput, next: Next) {
  const run = await traceOf(deps, info);
  if (run === null) return await next([input]);
  const span = deps.telemetry.start({
    name: `execute_tool ${input.serverTool}`,
    kind: 'internal',
    parent: run.context,
    spanId: derivedSpanId('call', handleOf(info), input.callId),
    startMs: startOf(info),
    attributes: {
      ...ofRun('execute_tool', info),
      'gen_ai.tool.name': input.serverTool,
      'gen_ai.tool.call.id': input.callId,
      'fermata.tool_server': input.server,
    },
  });
  return await settle(span, info, input.attempts === 1, async () => {
    const result = (await next([
      { ...input, traceparent: formatTraceparent(span.context) },
    ])) as CallToolResult;
    return { result, attributes: {}, error: result.failed ? 'tool_failed' : null };
  });
}

/** Ends the span with what the attempt settled; one that will be made again leaves it to the next attempt. */
async function settle<T>(
  span: OpenSpan,
  { attempt }: Info,
  isOnlyAttempt: boolean,
  work: () => Promise<{ readonly result: T; readonly attributes: Attributes; readonly error: string | null }>,
): Promise<T> {
  try {
    const { result, attributes, error } = await work();
    span.end({ attributes: { ...attributes, 'fermata.attempts': attempt }, error });
    return result;
  } catch (thrown) {
    const error = finalError(thrown) ?? (isOnlyAttempt ? 'failed' : null);
    if (error !== null) span.end({ attributes: { 'fermata.attempts': attempt }, error });
    throw thrown;
  }
}

/** What kind of failure this is; null: there will be another attempt. */
function finalError(error: unknown): string | null {
  if (error instanceof CancelledFailure) return 'cancelled';
  if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true) return null;
  return error.type ?? 'failed';
}

async function traceOf(
  { traces }: ActivitySpansDeps,
  info: Info,
  traceparent?: string,
): Promise<RunTrace | null> {
  return await traces.of(handleOf(info), info.workflowExecution?.runId ?? null, traceparent);
}

function handleOf({ workflowExecution }: Info): string {
  return workflowExecution?.workflowId ?? '';
}

/** Attempts before this one belong to the span; a first one begins when it begins, by this machine's clock. */
function startOf({ attempt, scheduledTimestampMs }: Info): number {
  return attempt === 1 ? Date.now() : Math.min(scheduledTimestampMs, Date.now());
}

function ofRun(operation: string, info: Info): Attributes {
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': 'fermata',
    'gen_ai.conversation.id': handleOf(info),
    'fermata.run.id': handleOf(info),
  };
}
