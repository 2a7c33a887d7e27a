/**
 * The transcript as a run holds it: messages, their digest and their size. Pure. It never drops the
 * task, a reply or the pairing of a call with its result; only tool results are elided, their images first.
 */
import type { ChatMessage } from '../contracts/chat-messages.ts';
import {
  emptyTranscriptDigest,
  extendTranscriptDigest,
  transcriptDigest,
} from '../contracts/transcript-digest.ts';
import { elideImages } from './elide-images.ts';
import { utf8Bytes } from './text.ts';

/** Bytes of JSON that a transcript may have; a query's answer may be 2 MB at most. */
export const transcriptLimitBytes = 1_500_000;
/** Elision goes down to this, so that not every turn has to elide again and lose its prefix cache. */
const elisionTargetBytes = 1_200_000;

export interface Transcript {
  readonly messages: readonly ChatMessage[];
  readonly digest: string;
  /** Size as JSON, in UTF-8. */
  readonly bytes: number;
}

export const emptyTranscript: Transcript = { messages: [], digest: emptyTranscriptDigest, bytes: 2 };

/** The transcript with `added` at its end; its size is not checked here. */
export function appendMessages(transcript: Transcript, added: readonly ChatMessage[]): Transcript {
  return {
    messages: [...transcript.messages, ...added],
    digest: added.reduce(extendTranscriptDigest, transcript.digest),
    bytes: added.reduce((bytes, message) => bytes + bytesOf(message), transcript.bytes),
  };
}

/**
 * The transcript within `limitBytes` and the most images: as it is when it fits, else with the oldest images
 * left out, and where that is not enough with the texts of the oldest tool results elided.
 * @returns null when it does not fit even without any tool result.
 */
export function fitTranscript(
  transcript: Transcript,
  limitBytes: number = transcriptLimitBytes,
  targetBytes: number = Math.min(elisionTargetBytes, limitBytes),
): Transcript | null {
  const over = transcript.bytes > limitBytes ? transcript.bytes - targetBytes : 0;
  const lean = elideImages(transcript.messages, over, bytesOf);
  if (over === 0 && lean.messages === transcript.messages) return transcript;
  let bytes = transcript.bytes - lean.savedBytes;
  const messages = lean.messages.map((message) => {
    if (over === 0 || bytes <= targetBytes || message.role !== 'tool') return message;
    const elided: ChatMessage = { ...message, content: elisionNote(message.content) };
    const saved = bytesOf(message) - bytesOf(elided);
    if (saved <= 0) return message;
    bytes -= saved;
    return elided;
  });
  return bytes <= limitBytes ? { messages, digest: transcriptDigest(messages), bytes } : null;
}

function elisionNote(content: string): string {
  return `[${utf8Bytes(content)} bytes of this tool result were left out to keep the transcript small]`;
}

function bytesOf(message: ChatMessage): number {
  return utf8Bytes(JSON.stringify(message)) + 1;
}
