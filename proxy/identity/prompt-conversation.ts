/**
 * The conversation of OpenAI's completions: a prompt as text, a list of texts, tokens, or a list of such
 * lists. It has no replies to recognise it by, so only headers tell which run it belongs to. Pure.
 */
import { readConversation, type Conversation, type ConversationItem } from './conversation.ts';
import { onlyText } from './inlined-data.ts';

export function promptConversation(model: string | null, prompt: unknown): Conversation {
  return readConversation({ model, tools: undefined, items: promptsIn(prompt).map(itemOf) });
}

function promptsIn(prompt: unknown): readonly unknown[] {
  if (prompt === undefined || prompt === null) return [];
  return Array.isArray(prompt) && !isTokens(prompt) ? (prompt as unknown[]) : [prompt];
}

/** Only the first is looked at: there may be very many. */
function isTokens(prompt: readonly unknown[]): boolean {
  return typeof prompt[0] === 'number';
}

function itemOf(prompt: unknown): ConversationItem {
  const text = JSON.stringify(prompt) ?? 'null';
  const tokens = Array.isArray(prompt) && isTokens(prompt) ? prompt.length : null;
  return {
    text,
    beginsReply: false,
    resultIds: [],
    notText: tokens === null ? onlyText : { characters: text.length, tokens },
  };
}
