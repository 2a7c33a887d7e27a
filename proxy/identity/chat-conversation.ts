/** The conversation of OpenAI's chat completions: one item a message. Pure. */
import { isObject, textOf } from '../foreign-json.ts';
import { readConversation, type Conversation, type ConversationItem } from './conversation.ts';
import { inlinedIn, onlyText } from './inlined-data.ts';

export function chatConversation(request: {
  readonly model: string | null;
  readonly tools: unknown;
  readonly messages: readonly unknown[];
}): Conversation {
  const { model, tools, messages } = request;
  return readConversation({ model, tools, items: messages.map(itemOf) });
}

function itemOf(message: unknown): ConversationItem {
  const known = isObject(message) ? message : {};
  const { role, content } = known;
  const resultOf = role === 'tool' ? textOf(known['tool_call_id']) : null;
  return {
    text: JSON.stringify(message) ?? 'null',
    beginsReply: role === 'assistant',
    resultIds: resultOf === null ? [] : [resultOf],
    notText: Array.isArray(content) ? inlinedIn(content) : onlyText,
  };
}
