/**
 * Transcripts that this worker has seen: after each turn the messages it sent and the reply it got, and
 * the results of that reply's calls as they come in. It answers only with exactly what the workflow asks
 * for, proved by digest; everything else is a miss, and the turn queries its workflow.
 */
import type { AssistantMessage, ChatMessage } from '../../contracts/chat-messages.ts';
import { transcriptDigest } from '../../contracts/transcript-digest.ts';
import type { TranscriptReference, TurnCall } from '../activity-types.ts';
import { createWeightedCache } from '../weighted-cache.ts';

export interface TranscriptCache {
  find(runId: string, reference: TranscriptReference): readonly ChatMessage[] | null;
  /** After a turn: what it sent, what came back, and the calls that are answered without being run. */
  replied(
    runId: string,
    sent: readonly ChatMessage[],
    reply: AssistantMessage,
    calls: readonly TurnCall[],
  ): void;
  /** After a tool call of the last reply. */
  answered(runId: string, callId: string, content: string): void;
  forget(runId: string): void;
}

/** UTF-16 units of message text kept, about 128 MB. */
const cacheLimit = 64_000_000;

interface Remembered {
  readonly messages: readonly ChatMessage[];
  readonly reply: AssistantMessage;
  readonly answers: Map<string, string>;
}

export function createTranscriptCache(limit: number = cacheLimit): TranscriptCache {
  const runs = createWeightedCache<Remembered>(limit);
  return {
    find(runId, reference) {
      const known = runs.get(runId);
      if (known === undefined) return null;
      const messages = [...known.messages, known.reply, ...answersOf(known)];
      if (messages.length !== reference.length) return null;
      return transcriptDigest(messages) === reference.digest ? messages : null;
    },
    replied(runId, sent, reply, calls) {
      const answers = new Map(
        calls.flatMap((call) => (call.refusal === undefined ? [] : [[call.id, call.refusal.text]])),
      );
      runs.set(runId, { messages: sent, reply, answers }, weightOf(sent) + weightOf([reply]));
    },
    answered(runId, callId, content) {
      runs.get(runId)?.answers.set(callId, content);
    },
    forget: (runId) => runs.delete(runId),
  };
}

function answersOf({ reply, answers }: Remembered): ChatMessage[] {
  return (reply.tool_calls ?? []).flatMap((call): ChatMessage[] => {
    const content = answers.get(call.id);
    return content === undefined ? [] : [{ role: 'tool', tool_call_id: call.id, content }];
  });
}

function weightOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => {
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    const callUnits = calls.reduce((units, call) => units + call.function.arguments.length, 0);
    return sum + (message.content?.length ?? 0) + callUnits + 100;
  }, 0);
}
