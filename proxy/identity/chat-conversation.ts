/**
 * The conversation of OpenAI's chat completions: one item a message. Pure.
 *
 * What clients change when they send a message again must not change a hash: marks of `cache_control`, which
 * some write here too, a list of one text in the place of the text, and the reasoning of earlier replies.
 */
import { isObject, textOf, type Json } from '../foreign-json.ts';
import { readConversation, type Conversation, type ConversationItem } from './conversation.ts';
import { inlinedIn, onlyText } from './inlined-data.ts';
import { without, withoutMark } from './resent.ts';

export function chatConversation(request: {
  readonly model: string | null;
  readonly tools: unknown;
  readonly messages: readonly unknown[];
}): Conversation {
  const { model, tools, messages } = request;
  return readConversation({ model, tools, items: messages.map(itemOf) });
}

function itemOf(message: unknown): ConversationItem {
  if (!isObject(message)) {
    const text = JSON.stringify(message) ?? 'null';
    return { text, beginsReply: false, resultIds: [], notText: onlyText };
  }
  const { role } = message;
  const kept = lasting(message);
  const { content } = kept;
  const beginsReply = role === 'assistant';
  const resultOf = role === 'tool' ? textOf(message['tool_call_id']) : null;
  const resultIds = resultOf === null ? [] : [resultOf];
  if (typeof content === 'string') {
    return { text: content, frame: frameOf(kept, content), beginsReply, resultIds, notText: onlyText };
  }
  const notText = Array.isArray(content) ? inlinedIn(content) : onlyText;
  return { text: JSON.stringify(kept), beginsReply, resultIds, notText };
}

/**
 * Read from the end it tells where the text begins: no other JSON is that of a message with a text as content, and
 * the short form of a message that has nothing else is none.
 */
function frameOf(message: Json, content: string): string {
  if (typeof message['role'] === 'string' && Object.keys(message).length === 2) {
    return `${JSON.stringify(message['role'])} ${content.length}`;
  }
  return JSON.stringify({ ...message, content: String(content.length) });
}

const passing = ['cache_control', 'reasoning_content', 'reasoning', 'reasoning_details'];

/** Most messages are plain, and are themselves. */
function lasting(message: Json): Json {
  const kept = without(message, passing);
  const { content } = kept;
  return Array.isArray(content) ? { ...kept, content: lastingContent(content) } : kept;
}

function lastingContent(parts: readonly unknown[]): unknown {
  const kept = parts.map(withoutMark);
  const [only] = kept;
  const isText = kept.length === 1 && isObject(only) && only['type'] === 'text';
  return isText ? only['text'] : kept;
}
