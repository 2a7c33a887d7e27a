/**
 * The conversation of OpenAI's responses: the instructions, then the items of the input, or what follows a
 * stored response. Pure; item types that it does not know are input like any other.
 *
 * What clients may leave out or add when they send a reply back must not change a hash: reasoning, the ids
 * and states of messages, a plain text in the place of a list of one.
 */
import { isObject, objectsIn, textOf, type Json } from '../foreign-json.ts';
import { readConversation, type Conversation, type ConversationItem } from './conversation.ts';
import { addNotText, inlinedIn, onlyText, type NotText } from './inlined-data.ts';

export function responsesConversation(request: {
  readonly model: string | null;
  readonly instructions: unknown;
  readonly tools: unknown;
  readonly input: unknown;
  /** `previous_response_id`. */
  readonly previousResponse: unknown;
  /** An id, or an object with one: what the engine stores and the input goes on from. */
  readonly conversation?: unknown;
}): Conversation {
  const { model, tools, instructions } = request;
  const given = inputItems(request.input).filter((item) => typeOf(item) !== 'reasoning');
  const items = given.map((item, index) => itemOf(item, given[index - 1]));
  return readConversation({
    model,
    tools,
    items: instructions === undefined || instructions === null ? items : [plain(instructions), ...items],
    previousResponse: textOf(request.previousResponse) ?? conversationId(request.conversation),
  });
}

/** No reply is known by it, so it names no run; but what is stored under it is in one place. */
function conversationId(conversation: unknown): string | null {
  const id = textOf(isObject(conversation) ? conversation['id'] : conversation);
  return id === null ? null : `conversation ${id}`;
}

function inputItems(input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return Array.isArray(input) ? input : [];
}

function itemOf(item: unknown, before: unknown): ConversationItem {
  if (!isObject(item)) return plain(item);
  const resultId = resultIdOf(item);
  return {
    text: JSON.stringify(isMessage(item) ? [item['role'], contentOf(item['content'])] : item),
    beginsReply: isOfReply(item) && !isOfReply(before),
    resultIds: resultId === null ? [] : [resultId],
    notText: notTextOf(item),
  };
}

function plain(value: unknown): ConversationItem {
  return { text: JSON.stringify(value) ?? 'null', beginsReply: false, resultIds: [], notText: onlyText };
}

function typeOf(item: unknown): unknown {
  return isObject(item) ? item['type'] : null;
}

/** `type` may be left out of a message. */
function isMessage(item: Json): boolean {
  return typeof item['role'] === 'string' && (item['type'] === undefined || item['type'] === 'message');
}

/** The text of a content that is nothing else, however it is written. */
function contentOf(content: unknown): unknown {
  const parts = Array.isArray(content) ? (content as unknown[]) : [];
  const [only] = parts;
  return parts.length === 1 && isObject(only) && typeof only['text'] === 'string' ? only['text'] : content;
}

/** What a model produces: its messages, its calls of tools, and what a server did for it on the way. */
function isOfReply(item: unknown): boolean {
  if (!isObject(item)) return false;
  const { type } = item;
  if (isMessage(item)) return item['role'] === 'assistant';
  return (
    typeof type === 'string' &&
    (type.endsWith('_call') || type === 'mcp_list_tools' || type === 'mcp_approval_request')
  );
}

function resultIdOf(item: Json): string | null {
  const { type } = item;
  if (type === 'mcp_approval_response') return textOf(item['approval_request_id']);
  if (typeof type !== 'string' || !type.endsWith('_call_output')) return null;
  return textOf(item['call_id']) ?? textOf(item['id']);
}

function notTextOf(item: Json): NotText {
  const { content, output } = item;
  let sum = onlyText;
  for (const parts of [content, output]) {
    const listed = isObject(parts) ? [parts] : objectsIn(parts);
    if (listed.length > 0) sum = addNotText(sum, inlinedIn(listed));
  }
  if (item['type'] !== 'image_generation_call') return sum;
  return addNotText(sum, inlinedIn([{ file_data: item['result'] }]));
}
