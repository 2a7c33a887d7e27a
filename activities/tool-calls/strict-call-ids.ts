/**
 * Tool call ids for engines that take only nine letters and digits. Pure. Every id of a conversation is
 * written anew, in its calls and in their results alike: pairs stay pairs, different ids stay different,
 * and a conversation that has grown begins with the ids it was sent with before.
 */
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import { textDigest } from '../../contracts/transcript-digest.ts';

export const strictCallIdPattern = /^[A-Za-z0-9]{9}$/;

export function withStrictCallIds(messages: readonly ChatMessage[]): ChatMessage[] {
  const strictIds = new Map<string, string>();
  const taken = new Set<string>();
  const strictId = (id: string): string => {
    const known = strictIds.get(id);
    if (known !== undefined) return known;
    let candidate = id;
    for (let round = 0; !strictCallIdPattern.test(candidate) || taken.has(candidate); round += 1) {
      candidate = `c${textDigest(`${round}:${id}`).slice(0, 8)}`;
    }
    strictIds.set(id, candidate);
    taken.add(candidate);
    return candidate;
  };
  return messages.map((message): ChatMessage => {
    if (message.role === 'tool') return { ...message, tool_call_id: strictId(message.tool_call_id) };
    if (message.role !== 'assistant' || message.tool_calls === undefined) return message;
    return { ...message, tool_calls: message.tool_calls.map((call) => ({ ...call, id: strictId(call.id) })) };
  });
}

/** Whether an engine refused a request because of its ids: `… must be a-z, A-Z, 0-9, with a length of 9`. */
export function wantsStrictCallIds(status: number, message: string): boolean {
  return (
    (status === 400 || status === 422) &&
    /tool.?call.?id/i.test(message) &&
    /length of (?:9|nine)|(?:9|nine) (?:alphanumeric |letters|char)|\{9\}/i.test(message)
  );
}
