/**
 * A collected reply as the run takes it: the message for the transcript and its calls, each checked,
 * with an id of its own. Pure but for the validator's cache. Calls that a token limit may have cut are
 * refused, never run.
 */
import type { AssistantMessage, ChatMessage } from '../../contracts/chat-messages.ts';
import type { ListedTool } from '../../contracts/tool-listing.ts';
import type { TurnCall } from '../activity-types.ts';
import { checkCall, cutOffRefusal } from '../tool-calls/check-call.ts';
import { isRecord } from '../tool-calls/parse-arguments.ts';
import { recoverTextCalls } from '../tool-calls/recover-text-calls.ts';
import { toolNamePattern } from '../tool-calls/tool-names.ts';
import { unknownToolRefusal } from '../tool-calls/unknown-tool.ts';
import type { ValidateArguments } from '../tool-calls/validate-arguments.ts';
import type { CollectedCall, CollectedReply } from './collect-reply.ts';

export interface ReadReply {
  readonly message: AssistantMessage;
  readonly calls: readonly TurnCall[];
}

export interface ReplyContext {
  readonly turn: number;
  /** Tools that were offered; empty: none. */
  readonly tools: readonly ListedTool[];
  readonly transcript: readonly ChatMessage[];
  readonly validate: ValidateArguments;
  /** Whether ids of the engine are not taken. */
  readonly ownCallIds?: boolean;
}

export function readReply(reply: CollectedReply, context: ReplyContext): ReadReply {
  const { content, calls } = withRecoveredCalls(reply, context.tools);
  if (calls.length === 0) return { message: { role: 'assistant', content }, calls: [] };
  const taken = usedIds(context.transcript);
  const read = calls.map((call, position) => {
    const given = context.ownCallIds === true ? '' : call.id;
    const id = uniqueId(given, taken, context.turn, position);
    taken.add(id);
    return readCall(call, id, reply.finishReason === 'length', context);
  });
  return {
    message: {
      role: 'assistant',
      content: content === '' ? null : content,
      tool_calls: read.map(({ id, shownName, written }) => ({
        id,
        type: 'function',
        function: { name: shownName, arguments: written },
      })),
    },
    calls: read.map(({ call }) => call),
  };
}

function withRecoveredCalls(
  reply: CollectedReply,
  tools: readonly ListedTool[],
): { readonly content: string; readonly calls: readonly CollectedCall[] } {
  if (reply.calls.length > 0 || tools.length === 0) return reply;
  const recovered = recoverTextCalls(reply.content, new Set(tools.map((tool) => tool.name)));
  if (recovered === null) return reply;
  return { content: recovered.content, calls: recovered.calls.map((call) => ({ id: '', ...call })) };
}

interface ReadCall {
  readonly id: string;
  readonly shownName: string;
  /** Argument text for the transcript: JSON of an object in any case, or later requests are refused. */
  readonly written: string;
  readonly call: TurnCall;
}

function readCall(call: CollectedCall, id: string, cutByLimit: boolean, context: ReplyContext): ReadCall {
  const shownName = toolNamePattern.test(call.name) ? call.name : 'invalid_name';
  const written = objectText(call.arguments);
  const tool = context.tools.find((candidate) => candidate.name === call.name);
  const refused = (refusal: TurnCall['refusal'] & object): ReadCall => ({
    id,
    shownName,
    written: written ?? '{}',
    call: { id, name: call.name, refusal },
  });
  if (tool === undefined) return refused(unknownToolRefusal(call.name, context.tools));
  if (cutByLimit) return refused(cutOffRefusal(tool.name));
  const checked = checkCall(call.arguments, tool, context.validate);
  if (checked.kind === 'refused') return refused(checked.refusal);
  const executed = JSON.stringify(checked.value);
  return {
    id,
    shownName,
    written: written ?? executed,
    call: { id, name: tool.name, ...(written === executed ? {} : { arguments: executed }) },
  };
}

/** The text as it is when it is JSON of an object; null when it is anything else. */
function objectText(text: string): string | null {
  try {
    return isRecord(JSON.parse(text)) ? text : null;
  } catch {
    return null;
  }
}

function usedIds(transcript: readonly ChatMessage[]): Set<string> {
  return new Set(
    transcript.flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []).map((call) => call.id) : [],
    ),
  );
}

/** The engine's id where it is usable and new in this run; else one of nine letters and digits, which every engine takes. */
function uniqueId(given: string, taken: ReadonlySet<string>, turn: number, position: number): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(given) && !taken.has(given)) return given;
  for (let round = 0; ; round += 1) {
    const number = (turn * 1_000 + position) * 64 + round;
    const id = `c${number.toString(36).padStart(8, '0')}`;
    if (!taken.has(id)) return id;
  }
}
