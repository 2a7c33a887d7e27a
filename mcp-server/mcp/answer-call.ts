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
import type { CallMeter, CallOutcome } from '../metrics.ts';
import type { ToolCall, ToolDefinition } from './tool-call.ts';
import { answerBytes, cutMiddle } from '../runs/fair-cut.ts';
import { UserFault } from '../runs/user-fault.ts';

/** @returns `broken off` when the call's signal ended it. Never rejects. */
export async function answerCall(
  { meter, logger }: { readonly meter: CallMeter; readonly logger: Logger },
  tool: ToolDefinition,
  args: unknown,
  call: ToolCall,
): Promise<CallToolResult | InputRequiredResult | 'broken off'> {
  const startedAt = performance.now();
  meter.callStarted(tool.name);
  const end = (outcome: CallOutcome, about: Record<string, unknown>): void => {
    const ms = performance.now() - startedAt;
    meter.callEnded(tool.name, outcome, ms / 1_000);
    logger.info(
      { tool: tool.name, caller: call.asker.caller, ms: Math.round(ms), outcome, ...about },
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
    end('ok', handle === undefined ? {} : { run: handle });
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

export function toolError(text: string): CallToolResult {
  return { content: [{ type: 'text', text: cutMiddle(text, answerBytes) }], isError: true };
}
