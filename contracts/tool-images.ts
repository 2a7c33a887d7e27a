/**
 * Images in a transcript: their bounds and what they count for. Pure; the workflows import this file, so
 * it imports types only.
 */
import type { ChatMessage, ToolImage } from './chat-messages.ts';

/** Bytes of base64 of one image; a larger one is left out. */
export const imageLimitBytes = 500_000;
/** Bytes of base64 of all images of one tool result, which is one entry in a run's history. */
export const resultImagesLimitBytes = 700_000;
/** Images of one tool result. */
export const mostResultImages = 8;
/** Images of a transcript; above it the oldest are left out. */
export const mostTranscriptImages = 20;

/** What an image is taken to cost in tokens where an engine has not told: it never costs its base64 as text. */
export const tokensPerImage = 1_000;

export function imagesOf(message: ChatMessage): readonly ToolImage[] {
  return message.role === 'tool' ? (message.images ?? []) : [];
}

export interface ImageTotals {
  readonly count: number;
  /** Of their base64. */
  readonly bytes: number;
}

/** All images of `messages`; with {@link tokensPerImage}, what an estimate of tokens takes in place of their bytes. */
export function imageTotals(messages: readonly ChatMessage[]): ImageTotals {
  let count = 0;
  let bytes = 0;
  for (const message of messages) {
    for (const { data } of imagesOf(message)) {
      count += 1;
      bytes += data.length;
    }
  }
  return { count, bytes };
}

/**
 * Bytes of text that would cost as many tokens as the whole transcript, its images included.
 * @param bytes of the transcript as JSON.
 * @param bytesPerToken of the estimate that the result goes into.
 */
export function bytesAsText(
  { messages, bytes }: { readonly messages: readonly ChatMessage[]; readonly bytes: number },
  bytesPerToken: number,
): number {
  const images = imageTotals(messages);
  return bytes - images.bytes + images.count * tokensPerImage * bytesPerToken;
}

/** The message without its images and a line that says `why`; any other message as it is. */
export function withoutImages(message: ChatMessage, why: string): ChatMessage {
  const { length } = imagesOf(message);
  if (message.role !== 'tool' || length === 0) return message;
  const { images: _images, ...rest } = message;
  const which = length === 1 ? 'the image' : `the ${length} images`;
  return { ...rest, content: `${message.content}\n[${which} of this result left out: ${why}]` };
}
