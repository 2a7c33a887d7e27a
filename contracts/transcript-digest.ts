/**
 * Short names for an exact transcript and an exact tool list: workflow and worker compute it alike, so that a worker that
 * still holds the messages of a run can prove that they are what the workflow asks for. It chains one
 * message at a time and is no protection against forgery: both sides belong to the same run.
 */
import type { ChatMessage } from './chat-messages.ts';

/** Digest of no messages. */
export const emptyTranscriptDigest = '0000000000000000';

/**
 * The digest after one more message.
 * @param digest of all messages before it.
 */
export function extendTranscriptDigest(digest: string, message: ChatMessage): string {
  return textDigest(digest + canonicalText(message));
}

/** Looked up once: in a workflow's sandbox each look at a global costs far more than the multiplication. */
const { imul } = Math;

/** 16 hexadecimal digits for a text. */
export function textDigest(text: string): string {
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    high = imul(high ^ unit, 0x85ebca6b);
    high ^= high >>> 13;
    low = imul(low ^ unit, 0xc2b2ae35);
    low ^= low >>> 16;
  }
  return hex(high) + hex(low);
}

/** The digest of a whole transcript. */
export function transcriptDigest(messages: readonly ChatMessage[]): string {
  return messages.reduce(extendTranscriptDigest, emptyTranscriptDigest);
}

/** One text for one message, whatever order its fields are held in. */
function canonicalText(message: ChatMessage): string {
  switch (message.role) {
    case 'system':
    case 'user':
      return JSON.stringify([message.role, message.content]);
    case 'tool':
      return JSON.stringify([
        message.role,
        message.tool_call_id,
        message.content,
        ...(message.images ?? []).map((image) => [image.mimeType, image.data]),
      ]);
    case 'assistant':
      return JSON.stringify([
        message.role,
        message.content,
        (message.tool_calls ?? []).map((call) => [call.id, call.function.name, call.function.arguments]),
      ]);
  }
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}
