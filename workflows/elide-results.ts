/**
 * What a transcript that is too large loses besides its images, in stages. Pure. The newest round, which
 * the model has not answered yet, is only cut; before it the oldest results go first, then whole rounds,
 * a reply with its calls and all of their results together. System prompt and task are never touched.
 */
import type { ChatMessage } from '../contracts/chat-messages.ts';
import { cutMiddle, jsonTextBytes, utf8Bytes } from './text.ts';

/** Messages never change, and each is measured again with every transcript that it is in. */
const measured = new WeakMap<ChatMessage, number>();

/** Bytes of a message in a transcript, its comma included. */
export function bytesOf(message: ChatMessage): number {
  const known = measured.get(message);
  if (known !== undefined) return known;
  const bytes = utf8Bytes(JSON.stringify(message)) + 1;
  measured.set(message, bytes);
  return bytes;
}

export function totalBytes(messages: readonly ChatMessage[]): number {
  return messages.reduce((bytes, message) => bytes + bytesOf(message), 0);
}

/** Shorter results stay: a note in their place would save nothing. */
const shortestElided = 200;

/** No result of the newest round is cut shorter than this; where that does not fit, nothing does. */
const shortestCut = 300;

/** Where the newest round begins; the length when there is none. */
export function newestRound(messages: readonly ChatMessage[]): number {
  const start = messages.findLastIndex(({ role }) => role === 'assistant');
  return start === -1 ? messages.length : start;
}

/** System prompt and task, and whatever else a user said. */
export function fixedBytes(messages: readonly ChatMessage[]): number {
  return totalBytes(messages.filter(({ role }) => role === 'system' || role === 'user'));
}

/** The texts of the oldest results before the newest round left out, until `wantedBytes` are saved. */
export function elideResults(messages: readonly ChatMessage[], wantedBytes: number): readonly ChatMessage[] {
  const end = newestRound(messages);
  let saved = 0;
  return messages.map((message, index) => {
    if (saved >= wantedBytes || index >= end || message.role !== 'tool') return message;
    if (message.content.length < shortestElided) return message;
    const elided: ChatMessage = { ...message, content: elisionNote(message.content) };
    saved += bytesOf(message) - bytesOf(elided);
    return elided;
  });
}

function elisionNote(content: string): string {
  return `[${utf8Bytes(content)} bytes of this tool result were left out to keep the transcript small]`;
}

export const droppedNote =
  '[earlier replies and their tool calls were left out here to keep the transcript small]';

export interface Dropped {
  readonly messages: readonly ChatMessage[];
  /** Replies that are gone. */
  readonly rounds: number;
}

/** The oldest rounds before the newest one dropped, until `wantedBytes` are saved. */
export function dropRounds(messages: readonly ChatMessage[], wantedBytes: number): Dropped {
  const newest = newestRound(messages);
  let saved = 0;
  let rounds = 0;
  let dropping = false;
  const kept = messages.filter((message, index) => {
    if (message.role === 'system' || message.role === 'user') return true;
    if (message.role === 'assistant') {
      dropping = index < newest && saved < wantedBytes + bytesOf({ role: 'assistant', content: droppedNote });
      if (dropping) rounds += 1;
    }
    if (dropping) saved += bytesOf(message);
    return !dropping;
  });
  return rounds === 0 ? { messages, rounds } : { messages: withNote(kept), rounds };
}

/** The note stands in the first reply that is kept, so that no role follows itself. */
function withNote(messages: readonly ChatMessage[]): ChatMessage[] {
  const first = messages.findIndex(({ role }) => role === 'assistant');
  return messages.map((message, index) => {
    if (index !== first || message.role !== 'assistant') return message;
    const said = message.content ?? '';
    if (said.startsWith(droppedNote)) return message;
    return { ...message, content: said === '' ? droppedNote : `${droppedNote}\n${said}` };
  });
}

/**
 * The results of the newest round cut, longest first, so that the round has at most `roomBytes`.
 * @returns null when that cannot be.
 */
export function cutNewest(
  messages: readonly ChatMessage[],
  roomBytes: number,
): readonly ChatMessage[] | null {
  const start = newestRound(messages);
  const round = messages.slice(start);
  if (totalBytes(round) <= roomBytes) return messages;
  const sizes = round.map((message) => (message.role === 'tool' ? jsonTextBytes(message.content) : 0));
  const others = totalBytes(round) - sizes.reduce((sum, size) => sum + size, 0);
  const share = largestShare(sizes, roomBytes - others);
  if (share < shortestCut) return null;
  const cut = round.map((message): ChatMessage =>
    message.role === 'tool' ? { ...message, content: cutMiddle(message.content, share) } : message,
  );
  return [...messages.slice(0, start), ...cut];
}

/** The most that each may have, so that all together have `room`: who needs less leaves the rest to the others. */
function largestShare(sizes: readonly number[], room: number): number {
  let left = room;
  const rising = sizes.toSorted((a, b) => a - b);
  for (const [index, size] of rising.entries()) {
    const share = Math.floor(left / (rising.length - index));
    if (size > share) return share;
    left -= size;
  }
  return room;
}
