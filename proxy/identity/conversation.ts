/**
 * What is computed once from the conversation of a request: hashes of its prefix for placement, hashes by
 * which a later request of the same conversation is recognised, and an estimate of its prompt tokens. How
 * an API's request splits into items is the API's to say. Pure; keeps none of the text, so a held turn
 * costs no more than these few strings.
 */
import { hash } from 'node:crypto';
import type { NotText } from './inlined-data.ts';

export interface Conversation {
  /** Rolling hashes of model, tools and items in whole blocks of 1,024 characters, oldest first. */
  readonly prefix: string[];
  /** An estimate: one token for four bytes of JSON text, inlined data at a flat rate. */
  readonly promptTokens: number;
  /** Hash of all items. */
  readonly whole: string;
  /** Hashes of its beginnings that a reply followed, longest first. */
  readonly answered: readonly string[];
  /** The tool results at its end: what they answer, and the beginning that the calls came from. */
  readonly toolResults: { readonly before: string; readonly ids: readonly string[] } | null;
  /** The stored response that it goes on from; null when all of it is in the request. */
  readonly previousResponse: string | null;
}

/** A message, or whatever else an API's conversation is made of. */
export interface ConversationItem {
  /** Its text, the same each time that it is sent. */
  readonly text: string;
  /** A reply of the model begins with it. */
  readonly beginsReply: boolean;
  /** Ids of the tool calls whose results it carries. */
  readonly resultIds: readonly string[];
  readonly notText: NotText;
}

export interface ConversationSource {
  readonly model: string | null;
  /** Whatever the request offers as tools; they come before the items in an engine's prompt. */
  readonly tools: unknown;
  readonly items: readonly ConversationItem[];
  /** The id of the stored response before the items. */
  readonly previousResponse?: string | null;
}

const blockCharacters = 1024;
const maxBlocks = 64;
const maxAnswered = 64;
const maxToolIds = 64;
const bytesPerToken = 4;

export function readConversation(source: ConversationSource): Conversation {
  const { model, tools, items, previousResponse = null } = source;
  const head = `${model ?? ''}\n${tools === undefined ? '' : JSON.stringify(tools)}\n`;
  const { whole, answered, toolResults } = beginnings(items, previousResponse);
  return {
    prefix: prefixHashes(head, items),
    promptTokens: estimateTokens(head, items),
    whole,
    answered,
    toolResults,
    previousResponse,
  };
}

function prefixHashes(head: string, items: readonly ConversationItem[]): string[] {
  let text = head;
  for (const item of items) {
    if (text.length >= blockCharacters * maxBlocks) break;
    text += item.text;
  }
  const blocks = Math.min(maxBlocks, Math.floor(text.length / blockCharacters));
  let before = '';
  return Array.from({ length: blocks }, (_block, index) => {
    const block = text.slice(index * blockCharacters, (index + 1) * blockCharacters);
    // 16 characters; a slice of the whole text would keep the whole as long as the turn is held.
    before = hash('sha1', `${before}${block}`, 'buffer').toString('base64url', 0, 12);
    return before;
  });
}

function beginnings(
  items: readonly ConversationItem[],
  previousResponse: string | null,
): Pick<Conversation, 'whole' | 'answered' | 'toolResults'> {
  // Each digest stands for all before it; one call a reply costs far less than a hash object that is copied.
  let before = previousResponse === null ? '' : `${JSON.stringify(previousResponse)}\n`;
  let since = '';
  const answered: string[] = [];
  let beforeLastReply: string | null = null;
  let lastReply: number | undefined;
  for (const [index, { text, beginsReply }] of items.entries()) {
    if (beginsReply) {
      before = digestOf(before, since);
      since = '';
      if (index > 0) answered.push(before);
      beforeLastReply = before;
      lastReply = index;
    }
    since += `${text}\n`;
  }
  const results = lastReply === undefined ? [] : items.slice(lastReply + 1);
  const ids = results.flatMap((item) => item.resultIds).slice(0, maxToolIds);
  return {
    whole: digestOf(before, since),
    answered: answered.slice(-maxAnswered).toReversed(),
    toolResults: beforeLastReply === null || ids.length === 0 ? null : { before: beforeLastReply, ids },
  };
}

function digestOf(before: string, text: string): string {
  return hash('sha256', `${before}\n${text}`, 'base64url');
}

function estimateTokens(head: string, items: readonly ConversationItem[]): number {
  let bytes = Buffer.byteLength(head);
  let tokens = 0;
  for (const { text, notText } of items) {
    bytes += Buffer.byteLength(text) - notText.characters;
    tokens += notText.tokens;
  }
  return Math.ceil(Math.max(0, bytes) / bytesPerToken) + tokens;
}
