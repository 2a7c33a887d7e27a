/**
 * The conversation of Anthropic's messages: the system prompt, then one item a message. Pure.
 *
 * What agents change from turn to turn without meaning anything else must not change a hash: marks of
 * `cache_control` move on to the newest messages; a plain text becomes a block when it is marked; thinking
 * of earlier turns is dropped; the first system block of Claude Code names the request for billing.
 */
import { isObject, objectsIn, textOf, type Json } from '../foreign-json.ts';
import { readConversation, type Conversation, type ConversationItem } from './conversation.ts';
import { addNotText, inlinedIn, onlyText, type NotText } from './inlined-data.ts';
import { withoutMark } from './resent.ts';

export function messagesConversation(request: {
  readonly model: string | null;
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly messages: readonly unknown[];
}): Conversation {
  const { model, system, tools, messages } = request;
  const prompt = systemItem(system);
  const items = messages.map((message, index) => itemOf(message, messages[index - 1]));
  return readConversation({
    model,
    tools: Array.isArray(tools) ? tools.map(withoutMark) : tools,
    items: prompt === null ? items : [prompt, ...items],
  });
}

const billingMark = 'x-anthropic-billing-header';

function systemItem(system: unknown): ConversationItem | null {
  if (system === undefined || system === null) return null;
  const blocks = blocksOf(system).filter((block) => !isBilling(block));
  return { text: JSON.stringify(blocks), beginsReply: false, resultIds: [], notText: onlyText };
}

function isBilling(block: unknown): boolean {
  const text = isObject(block) ? block['text'] : null;
  return typeof text === 'string' && text.startsWith(billingMark);
}

function itemOf(message: unknown, before: unknown): ConversationItem {
  if (!isObject(message)) {
    return {
      text: JSON.stringify(message) ?? 'null',
      beginsReply: false,
      resultIds: [],
      notText: onlyText,
    };
  }
  const { role, content } = message;
  const blocks = blocksOf(content).filter((block) => !isThinking(block));
  return {
    text: JSON.stringify([role, blocks]),
    // Some clients send the blocks of one reply as several messages.
    beginsReply: role === 'assistant' && !(isObject(before) && before['role'] === 'assistant'),
    resultIds: role === 'user' ? objectsIn(content).flatMap(resultIdsOf) : [],
    notText: notTextOf(blocks),
  };
}

/** The blocks of a content, unmarked; a plain text is one block. */
function blocksOf(content: unknown): unknown[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.map(unmarked) : [content];
}

function unmarked(block: unknown): unknown {
  if (!isObject(block)) return block;
  const content = block['content'];
  if (!Array.isArray(content)) return withoutMark(block);
  return withoutMark({ ...block, content: content.map(withoutMark) });
}

function isThinking(block: unknown): boolean {
  return isObject(block) && (block['type'] === 'thinking' || block['type'] === 'redacted_thinking');
}

function resultIdsOf(block: Json): string[] {
  const id = block['type'] === 'tool_result' ? textOf(block['tool_use_id']) : null;
  return id === null ? [] : [id];
}

function notTextOf(blocks: readonly unknown[]): NotText {
  let sum = inlinedIn(blocks);
  for (const block of objectsIn(blocks)) {
    const content = block['content'];
    if (Array.isArray(content)) sum = addNotText(sum, inlinedIn(content));
  }
  return sum;
}
