/**
 * Transcripts that this worker has seen: after each turn the messages it sent and the reply it got, and
 * the results of that reply's calls as they come in. It answers only with exactly what the workflow asks
 * for, proved by digest; everything else is a miss, and the turn queries its workflow.
 */
import type { AssistantMessage, ChatMessage, ToolImage } from '../../contracts/chat-messages.ts';
import { imagesOf } from '../../contracts/tool-images.ts';
import { extendTranscriptDigest } from '../../contracts/transcript-digest.ts';
import type { TranscriptReference, TurnCall } from '../activity-types.ts';
import { createWeightedCache } from '../weighted-cache.ts';

/** What a call was answered with. */
export interface Answer {
  readonly content: string;
  readonly images?: readonly ToolImage[];
}

/** Messages that were proved to be what the workflow asked for. */
export interface SentTranscript {
  readonly messages: readonly ChatMessage[];
  /** `transcriptDigest` of them: what comes after is digested on top of it, not all of it anew each turn. */
  readonly digest: string;
}

export interface TranscriptCache {
  find(runId: string, reference: TranscriptReference): readonly ChatMessage[] | null;
  /** After a turn: what it sent, what came back, and the calls that are answered without being run. */
  replied(runId: string, sent: SentTranscript, reply: AssistantMessage, calls: readonly TurnCall[]): void;
  /** After a tool call of the last reply. */
  answered(runId: string, callId: string, answer: Answer): void;
  forget(runId: string): void;
}

/** UTF-16 units of message text kept, about 128 MB. */
const cacheLimit = 64_000_000;
/**
 * A run whose turns go to several workers ends at one of them; the others would keep what they know of it until
 * the cache is full. After so long a run has ended, or waits for something beside which a query is nothing.
 */
const idleMs = 5 * 60_000;

interface Remembered {
  readonly sent: SentTranscript;
  readonly sentWeight: number;
  readonly reply: AssistantMessage;
  readonly answers: ReadonlyMap<string, Answer>;
}

export function createTranscriptCache(
  limit: number = cacheLimit,
  nowMs: () => number = () => performance.now(),
): TranscriptCache {
  const runs = createWeightedCache<Remembered>(limit, { idleMs, nowMs });
  const remember = (runId: string, run: Remembered): void => {
    runs.set(runId, run, run.sentWeight + weightOf(tailOf(run)));
  };
  return {
    find(runId, reference) {
      const known = runs.get(runId);
      if (known === undefined) return null;
      const { messages, digest } = known.sent;
      const tail = tailOf(known);
      if (messages.length + tail.length !== reference.length) return null;
      return tail.reduce(extendTranscriptDigest, digest) === reference.digest ? [...messages, ...tail] : null;
    },
    replied(runId, sent, reply, calls) {
      const answers = new Map(
        calls.flatMap((call) =>
          call.refusal === undefined ? [] : [[call.id, { content: call.refusal.text }]],
        ),
      );
      remember(runId, { sent, sentWeight: weightOf(sent.messages), reply, answers });
    },
    answered(runId, callId, { content, images }) {
      const known = runs.get(runId);
      if (known === undefined) return;
      const answer = { content, ...(images === undefined ? {} : { images }) };
      remember(runId, { ...known, answers: new Map([...known.answers, [callId, answer]]) });
    },
    forget: (runId) => runs.delete(runId),
  };
}

/** What came after the messages that were sent: the reply, and its answers so far in call order. */
function tailOf({ reply, answers }: Remembered): ChatMessage[] {
  const results = (reply.tool_calls ?? []).flatMap((call): ChatMessage[] => {
    const answer = answers.get(call.id);
    if (answer === undefined) return [];
    const images = answer.images === undefined ? {} : { images: [...answer.images] };
    return [{ role: 'tool', tool_call_id: call.id, content: answer.content, ...images }];
  });
  return [reply, ...results];
}

function weightOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => {
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    const callUnits = calls.reduce((units, call) => units + call.function.arguments.length, 0);
    const imageUnits = imagesOf(message).reduce((units, image) => units + image.data.length, 0);
    return sum + (message.content?.length ?? 0) + callUnits + imageUnits + 100;
  }, 0);
}
