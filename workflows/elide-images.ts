/**
 * Leaves the oldest images of a transcript out: engines take only so many, and they are what a transcript
 * can spare first. Pure. A line stands in their place; texts and pairings stay.
 */
import type { ChatMessage } from '../contracts/chat-messages.ts';
import { imagesOf, imageTotals, mostTranscriptImages, withoutImages } from '../contracts/tool-images.ts';

/** Images kept once there were too many: not every turn has to leave one out and lose its prefix cache. */
const keptImages = mostTranscriptImages / 2;

const why = 'it is old, and the transcript has to stay small';

export interface LeanMessages {
  readonly messages: readonly ChatMessage[];
  readonly savedBytes: number;
}

/**
 * @param wantedBytes to be saved at least, if there are images enough; 0: only their number counts.
 * @param bytesOf size of a message as JSON.
 */
export function elideImages(
  messages: readonly ChatMessage[],
  wantedBytes: number,
  bytesOf: (message: ChatMessage) => number,
): LeanMessages {
  let { count } = imageTotals(messages);
  const most = count > mostTranscriptImages ? keptImages : count;
  let savedBytes = 0;
  if (count === 0 || (wantedBytes <= 0 && count <= most)) return { messages, savedBytes };
  const lean = messages.map((message) => {
    const { length } = imagesOf(message);
    if (length === 0 || (savedBytes >= wantedBytes && count <= most)) return message;
    const elided = withoutImages(message, why);
    count -= length;
    savedBytes += bytesOf(message) - bytesOf(elided);
    return elided;
  });
  return { messages: lean, savedBytes };
}
