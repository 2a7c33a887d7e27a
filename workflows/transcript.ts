/**
 * The transcript as a run holds it: messages, their digest and their size, which is bounded. Pure. It
 * never drops the system prompt, the task or one half of a call with its result.
 */
import type { ChatMessage } from '../contracts/chat-messages.ts';
import { emptyTranscriptDigest, extendTranscriptDigest } from '../contracts/transcript-digest.ts';
import { elideImages } from './elide-images.ts';
import {
  bytesOf,
  cutNewest,
  dropRounds,
  elideResults,
  fixedBytes,
  newestRound,
  totalBytes,
  type Dropped,
} from './elide-results.ts';

/** Bytes of JSON that a transcript may have; a query's answer may be 2 MB at most. */
export const transcriptLimitBytes = 1_500_000;
/** Elision goes down to this, so that not every turn has to elide again and lose its prefix cache. */
const elisionTargetBytes = 1_200_000;

export interface Transcript {
  readonly messages: readonly ChatMessage[];
  readonly digest: string;
  /** Size as JSON, in UTF-8. */
  readonly bytes: number;
  /** Replies that were dropped with their calls: ids of calls may come up that were used before. */
  readonly droppedRounds: number;
}

const emptyBytes = 2;

export const emptyTranscript: Transcript = {
  messages: [],
  digest: emptyTranscriptDigest,
  bytes: emptyBytes,
  droppedRounds: 0,
};

/** The transcript that these messages are, none of them dropped. */
export function transcriptOf(messages: readonly ChatMessage[]): Transcript {
  return appendMessages(emptyTranscript, messages);
}

/** The transcript with `added` at its end; its size is not checked here. */
export function appendMessages(transcript: Transcript, added: readonly ChatMessage[]): Transcript {
  return {
    ...transcript,
    messages: [...transcript.messages, ...added],
    digest: added.reduce(extendTranscriptDigest, transcript.digest),
    bytes: added.reduce((bytes, message) => bytes + bytesOf(message), transcript.bytes),
  };
}

/**
 * The transcript within `limitBytes` and the most images: as it is when it fits, else without what it can
 * spare: the oldest images, what is too much of a newest round over half of the limit, the texts of the
 * oldest tool results, whole oldest rounds, and then still more of the newest round.
 * @returns null when it does not fit even so, or when what is never left out is over the target alone:
 * each turn would have to leave something out again, and lose its prefix cache.
 */
export function fitTranscript(
  transcript: Transcript,
  limitBytes: number = transcriptLimitBytes,
  targetBytes: number = Math.min(elisionTargetBytes, limitBytes),
): Transcript | null {
  const tooLarge = transcript.bytes > limitBytes;
  if (tooLarge && fixedBytes(transcript.messages) > targetBytes) return null;
  const lean = elideImages(transcript.messages, tooLarge ? transcript.bytes - targetBytes : 0, bytesOf);
  if (!tooLarge && lean.messages === transcript.messages) return transcript;
  const fitted = tooLarge ? leaner(lean.messages, limitBytes, targetBytes) : { ...lean, rounds: 0 };
  if (fitted === null) return null;
  const { droppedRounds } = transcript;
  return { ...transcriptOf(fitted.messages), droppedRounds: droppedRounds + fitted.rounds };
}

function leaner(messages: readonly ChatMessage[], limitBytes: number, targetBytes: number): Dropped | null {
  const over = (of: readonly ChatMessage[]): number => totalBytes(of) + emptyBytes - targetBytes;
  const newestBytes = totalBytes(messages.slice(newestRound(messages)));
  const room = Math.max(newestBytes - Math.max(0, over(messages)), Math.floor(limitBytes / 2));
  // Where a room cannot be made, the stages after it have to do it.
  const cut = cutNewest(messages, room) ?? messages;
  const elided = elideResults(cut, over(cut));
  const { messages: kept, rounds } = dropRounds(elided, over(elided));
  const others = totalBytes(kept.slice(0, newestRound(kept))) + emptyBytes;
  const last = cutNewest(kept, limitBytes - others);
  return last === null ? null : { messages: last, rounds };
}

/** The transcript as a query can answer with it, if there is any way. */
export function readableTranscript(transcript: Transcript): Transcript {
  return fitTranscript(transcript) ?? transcript;
}

/** Why a transcript cannot be made to fit, and what to do about it. */
export function tellTooLarge({ messages, bytes }: Transcript): string {
  const fixed = fixedBytes(messages);
  const newest = totalBytes(messages.slice(newestRound(messages)));
  const last = fixed > elisionTargetBytes ? '' : `, the last reply and its results ${newest}`;
  return `the transcript is ${bytes} bytes, more than the ${transcriptLimitBytes} a run can keep, and leaving out old tool results is not enough: task and system prompt are ${fixed} bytes${last}; give the run a smaller task`;
}
