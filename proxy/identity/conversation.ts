/**
 * What is computed once from the conversation of a request: hashes of its prefix for placement, hashes by
 * which a later request of the same conversation is recognised, and an estimate of its prompt tokens. How
 * an API's request splits into items is the API's to say. Pure; keeps none of the text, so a held turn
 * costs no more than these few strings.
 */
import { hash } from 'node:crypto';
import { LaidOut } from './laid-out.ts';
import type { NotText } from './inlined-data.ts';

export interface Conversation {
  /** Rolling hashes of model, tools and items in whole blocks of 1,024 bytes, oldest first. */
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
  /** Its text, the same each time that it is sent: JSON, unless it has a frame. */
  readonly text: string;
  /**
   * What else the item is, as JSON on one line with the length of the text in it: then the text is the plain one,
   * and is not copied. Stands behind it, since placement goes by how texts begin.
   */
  readonly frame?: string;
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

const blockBytes = 1024;
const maxBlocks = 64;
const maxAnswered = 64;
const maxToolIds = 64;
const bytesPerToken = 4;

export function readConversation(source: ConversationSource): Conversation {
  const { model, tools, items, previousResponse = null } = source;
  const head = `${model ?? ''}\n${tools === undefined ? '' : JSON.stringify(tools)}\n`;
  const laidOut = new LaidOut(head, items);
  return {
    prefix: prefixHashes(laidOut),
    promptTokens: estimateTokens(laidOut, items),
    ...beginnings(laidOut, items, previousResponse),
    previousResponse,
  };
}

function prefixHashes(laidOut: LaidOut): string[] {
  const length = Math.min(maxBlocks, Math.floor(laidOut.length / blockBytes));
  let before = '';
  // Of its length from the start, since it is kept as long as the turn is held.
  return Array.from({ length }, (_block, index) => {
    const start = index * blockBytes;
    before = laidOut.part(before, start, start + blockBytes, blockHash);
    return before;
  });
}

/** 16 characters; a slice of a longer text would keep that as long as the turn is held. */
function blockHash(bytes: Buffer): string {
  return hash('sha1', bytes, 'buffer').toString('base64url', 0, 12);
}

function digest(bytes: Buffer | string): string {
  return hash('sha256', bytes, 'base64url');
}

function beginnings(
  laidOut: LaidOut,
  items: readonly ConversationItem[],
  previousResponse: string | null,
): Pick<Conversation, 'whole' | 'answered' | 'toolResults'> {
  // Each digest stands for all before it; one call a reply costs far less than a hash object that is copied.
  let before = previousResponse === null ? '' : digest(previousResponse);
  let from = laidOut.headEnd;
  const answered: string[] = [];
  let beforeLastReply: string | null = null;
  let lastReply: number | undefined;
  for (let index = 0; index < items.length; index += 1) {
    if (items[index]?.beginsReply !== true) continue;
    const to = laidOut.startOf(index);
    before = laidOut.part(before, from, to, digest);
    from = to;
    if (index > 0) answered.push(before);
    beforeLastReply = before;
    lastReply = index;
  }
  const results = lastReply === undefined ? [] : items.slice(lastReply + 1);
  const ids = results.flatMap((item) => item.resultIds).slice(0, maxToolIds);
  return {
    whole: laidOut.part(before, from, laidOut.length, digest),
    answered: answered.slice(-maxAnswered).toReversed(),
    toolResults: beforeLastReply === null || ids.length === 0 ? null : { before: beforeLastReply, ids },
  };
}

function estimateTokens(laidOut: LaidOut, items: readonly ConversationItem[]): number {
  let bytes = laidOut.length;
  let tokens = 0;
  for (const { frame, notText } of items) {
    const lineFeeds = frame === undefined ? 1 : 2;
    bytes -= lineFeeds + notText.characters;
    tokens += notText.tokens;
  }
  return Math.ceil(Math.max(0, bytes) / bytesPerToken) + tokens;
}
