/**
 * One call of a tool, from its arguments to its answer: measured, logged in one line, and every failure
 * told in words. What a user did wrong is a tool error; what we did wrong is logged and told as such.
 */
import {
  isInputRequiredResult,
  type CallToolResult,
  type InputRequiredResult,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { handlePattern } from '../../contracts/run-names.ts';
import { parseTraceparent } from '../../contracts/trace-context.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { traceCall } from '../runs/trace-call.ts';
import type { CallMeter, CallOutcome } from '../metrics.ts';
import type { ToolCall, ToolDefinition } from './tool-call.ts';
import { answerBytes, cutMiddle } from '../runs/fair-cut.ts';
import { UserFault } from '../runs/user-fault.ts';

/** What the line of a call says beside what all say. */
interface CallNote {
  readonly run?: string;
  readonly [name: string]: unknown;
}

/** @returns `broken off` when the call's signal ended it. Never rejects. */
export async function answerCall(
  deps: {
    readonly meter: CallMeter;
    readonly logger: Logger;
    readonly telemetry?: Telemetry | null | undefined;
  },
  tool: ToolDefinition,
  args: unknown,
  given: ToolCall,
): Promise<CallToolResult | InputRequiredResult | 'broken off'> {
  const { meter, logger } = deps;
  const traced = traceCall(deps.telemetry ?? null, `tools/call ${tool.name}`, given.traceparent, {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool.name,
    'fermata.caller': given.asker.caller,
  });
  const call: ToolCall = { ...given, traceparent: traced.traceparent, span: traced.span };
  const trace = parseTraceparent(traced.traceparent)?.traceId;
  const startedAt = performance.now();
  meter.callStarted(tool.name);
  const end = (outcome: CallOutcome, about: CallNote): void => {
    const ms = performance.now() - startedAt;
    meter.callEnded(tool.name, outcome, ms / 1_000);
    traced.end(
      { 'fermata.run.id': about.run, 'fermata.outcome': outcome },
      outcome === 'ok' ? null : outcome,
    );
    logger.info(
      {
        tool: tool.name,
        caller: call.asker.caller,
        ms: Math.round(ms),
        outcome,
        ...(trace === undefined ? {} : { trace }),
        ...runsOf(args),
        ...about,
      },
      'tool call',
    );
  };
  try {
    const answer = await tool.handle(args, call);
    if (isInputRequiredResult(answer)) {
      end('ok', { asks: Object.keys(answer.inputRequests ?? {}).length });
      return answer;
    }
    if ('resultType' in answer) {
      end('ok', { run: answer.taskId });
      return { ...answer, content: [] };
    }
    const { text, structured } = answer;
    const { handle } = structured;
    end('ok', typeof handle === 'string' ? { run: handle } : {});
    return { content: [{ type: 'text', text }], structuredContent: structured };
  } catch (error) {
    if (error instanceof UserFault) {
      end('fault', { words: error.message });
      return toolError(error.message);
    }
    if (call.signal.aborted) {
      end('gone', {});
      return 'broken off';
    }
    end('error', { err: error });
    return toolError(`a fault in fermata: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Runs that a line names. */
const mostNamed = 20;

/** The runs that a call is about, by its arguments. */
function runsOf(args: unknown): { readonly run?: string; readonly runs?: readonly string[] } {
  const { handle, handles, parent } = (args ?? {}) as Readonly<Record<string, unknown>>;
  if (isHandle(handle)) return { run: handle };
  if (isHandle(parent)) return { run: parent };
  const listed = Array.isArray(handles) ? handles.filter(isHandle).slice(0, mostNamed) : [];
  return listed.length === 0 ? {} : { runs: listed };
}

function isHandle(value: unknown): value is string {
  return typeof value === 'string' && handlePattern.test(value);
}

export function toolError(text: string): CallToolResult {
  return { content: [{ type: 'text', text: cutMiddle(text, answerBytes) }], isError: true };
}
