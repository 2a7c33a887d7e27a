/**
 * What is computed once from the messages of a request: hashes of its prefix for placement, hashes by
 * which a later request of the same conversation is recognised, and an estimate of its prompt tokens.
 * Pure; keeps none of the text, so a held turn costs no more than these few strings.
 */
import { createHash } from 'node:crypto';

export interface Conversation {
  /** Rolling hashes of model, tools and messages in whole blocks of 1 KiB, oldest first. */
  readonly prefix: readonly string[];
  /** An estimate: one token for four bytes of JSON text, images inlined as data at a flat rate. */
  readonly promptTokens: number;
  /** Hash of all messages. */
  readonly whole: string;
  /** Hashes of its beginnings that a reply followed, longest first. */
  readonly answered: readonly string[];
  /** The tool results at its end: what they answer, and the beginning that the calls came from. */
  readonly toolResults: { readonly before: string; readonly ids: readonly string[] } | null;
}

const blockBytes = 1024;
const maxBlocks = 64;
const maxAnswered = 64;
const maxToolIds = 64;
const bytesPerToken = 4;
const tokensPerImage = 1_000;

export interface ConversationSource {
  readonly model: string | null;
  /** Whatever the request offers as tools; they come before the messages in an engine's prompt. */
  readonly tools: unknown;
  readonly messages: readonly unknown[];
}

export function readConversation(source: ConversationSource): Conversation {
  const head = `${source.model ?? ''}\n${source.tools === undefined ? '' : JSON.stringify(source.tools)}\n`;
  const texts = source.messages.map((message) => JSON.stringify(message) ?? 'null');
  return {
    prefix: prefixHashes(head, texts),
    promptTokens: estimateTokens(head, texts, source.messages),
    ...beginnings(source.messages, texts),
  };
}

function prefixHashes(head: string, texts: readonly string[]): string[] {
  let text = head;
  for (const next of texts) {
    if (text.length >= blockBytes * maxBlocks) break;
    text += next;
  }
  const bytes = Buffer.from(text.slice(0, blockBytes * maxBlocks));
  const hashes: string[] = [];
  let previous = '';
  const blocks = Math.min(maxBlocks, Math.floor(bytes.length / blockBytes));
  for (let index = 0; index < blocks; index++) {
    previous = createHash('sha1')
      .update(previous)
      .update(bytes.subarray(index * blockBytes, (index + 1) * blockBytes))
      .digest('base64url')
      .slice(0, 16);
    hashes.push(previous);
  }
  return hashes;
}

function beginnings(
  messages: readonly unknown[],
  texts: readonly string[],
): Pick<Conversation, 'whole' | 'answered' | 'toolResults'> {
  const replies = messages.flatMap((message, index) => (roleOf(message) === 'assistant' ? [index] : []));
  const wanted = new Set(replies.slice(-maxAnswered));
  const lastReply = replies.at(-1);
  const hash = createHash('sha256');
  const answered: string[] = [];
  let beforeLastReply: string | null = null;
  texts.forEach((text, index) => {
    if (wanted.has(index)) {
      const digest = hash.copy().digest('base64url');
      if (index > 0) answered.push(digest);
      if (index === lastReply) beforeLastReply = digest;
    }
    hash.update(text).update('\n');
  });
  const ids = lastReply === undefined ? [] : toolResultIds(messages.slice(lastReply + 1));
  return {
    whole: hash.digest('base64url'),
    answered: answered.toReversed(),
    toolResults: beforeLastReply === null || ids.length === 0 ? null : { before: beforeLastReply, ids },
  };
}

function toolResultIds(messages: readonly unknown[]): string[] {
  return messages
    .flatMap((message) => {
      const id = roleOf(message) === 'tool' ? (message as Record<string, unknown>)['tool_call_id'] : null;
      return typeof id === 'string' && id !== '' ? [id] : [];
    })
    .slice(0, maxToolIds);
}

function estimateTokens(head: string, texts: readonly string[], messages: readonly unknown[]): number {
  let bytes = Buffer.byteLength(head);
  for (const text of texts) bytes += Buffer.byteLength(text);
  let images = 0;
  for (const message of messages) {
    const content = isRecord(message) ? message['content'] : null;
    if (!Array.isArray(content)) continue;
    for (const part of content as unknown[]) {
      const inlined = inlinedDataLength(part);
      if (inlined === 0) continue;
      bytes -= inlined;
      images += 1;
    }
  }
  return Math.ceil(bytes / bytesPerToken) + images * tokensPerImage;
}

/** Length of the data URL of a content part; 0 when it has none. */
function inlinedDataLength(part: unknown): number {
  if (!isRecord(part) || !isRecord(part['image_url'])) return 0;
  const url = part['image_url']['url'];
  return typeof url === 'string' && url.startsWith('data:') ? url.length : 0;
}

function roleOf(message: unknown): unknown {
  return isRecord(message) ? message['role'] : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
