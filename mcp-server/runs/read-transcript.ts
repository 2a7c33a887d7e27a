/**
 * The messages of a run, by query: a worker has to answer, also for a run that has ended. Pictures are
 * told of, not handed out. Pages and entries are bounded, and so is their sum.
 */
import { WorkflowNotFoundError } from '@temporalio/common';
import { chatMessageSchema, type ChatMessage } from '../../contracts/chat-messages.ts';
import type { Handle } from '../../contracts/ids.ts';
import { transcriptQuery } from '../../contracts/run.ts';
import { imagesOf } from '../../contracts/tool-images.ts';
import { cutMiddle, jsonBytes } from './fair-cut.ts';
import { unknownHandle } from './run-reader.ts';
import { grpcStatusOf, isOutOfTime, type TemporalLink } from './temporal-link.ts';
import { UserFault } from './user-fault.ts';

export interface TranscriptEntry {
  /** Place in the transcript, from 0. */
  readonly index: number;
  readonly role: ChatMessage['role'];
  readonly content: string | null;
  /** Bytes of `content` as JSON before it was cut; null: it is whole. */
  readonly cutFromBytes: number | null;
  /** Of a reply; `arguments` is JSON text as the model wrote it, cut like a content. */
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  /** Of a tool's result: the call that it answers. */
  readonly toolCallId: string | null;
  readonly images: readonly { readonly mimeType: string; readonly bytes: number }[];
}

export interface TranscriptPage {
  /** Messages of the whole transcript. */
  readonly total: number;
  readonly entries: readonly TranscriptEntry[];
  /** null: nothing comes after this page. */
  readonly nextOffset: number | null;
}

export interface TranscriptRequest {
  readonly offset: number;
  readonly limit: number;
  /** Entries are not cut. */
  readonly full: boolean;
}

/** Milliseconds a worker has to answer: it may have to replay a long run first. */
const defaultLimitMs = 10_000;
/** Of one content or of the arguments of one call, as JSON. */
const entryBytes = 20_000;
/** Of a page; one entry is there whatever its size, which a run bounds at 1.5 MB. */
const pageBytes = 3_500_000;

const failedPrecondition = 9;

/**
 * @param limitMs milliseconds a worker has to answer.
 * @throws UserFault when no worker answers.
 */
export async function readMessages(
  temporal: TemporalLink,
  handle: Handle,
  limitMs: number = defaultLimitMs,
): Promise<readonly ChatMessage[]> {
  try {
    const answer: unknown = await temporal.call(
      (client) => client.workflow.getHandle(handle).query(transcriptQuery),
      limitMs,
    );
    return chatMessageSchema.array().parse(answer);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw unknownHandle([handle], await temporal.keptHours());
    if (!isOutOfTime(error) && grpcStatusOf(error)?.code !== failedPrecondition) throw error;
    throw new UserFault(
      'busy',
      `no worker answered for ${handle} within ${limitMs / 1_000} s, and a transcript is read from a worker; start one or try again in a moment`,
      { cause: error },
    );
  }
}

/** Pure. */
export function transcriptPage(
  messages: readonly ChatMessage[],
  { offset, limit, full }: TranscriptRequest,
): TranscriptPage {
  const entries: TranscriptEntry[] = [];
  let bytes = 0;
  for (const [at, message] of messages.slice(offset, offset + limit).entries()) {
    const entry = entryOf(message, offset + at, full);
    bytes += Buffer.byteLength(JSON.stringify(entry));
    if (entries.length > 0 && bytes > pageBytes) break;
    entries.push(entry);
  }
  const end = offset + entries.length;
  return { total: messages.length, entries, nextOffset: end < messages.length ? end : null };
}

function entryOf(message: ChatMessage, index: number, full: boolean): TranscriptEntry {
  const { role, content } = message;
  const shorten = (text: string): string => (full ? text : cutMiddle(text, entryBytes));
  const shown = content === null ? null : shorten(content);
  return {
    index,
    role,
    content: shown,
    cutFromBytes: content === null || shown === content ? null : jsonBytes(content),
    toolCalls:
      message.role === 'assistant'
        ? (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
            id,
            name,
            arguments: shorten(args),
          }))
        : [],
    toolCallId: message.role === 'tool' ? message.tool_call_id : null,
    images: imagesOf(message).map(({ mimeType, data }) => ({
      mimeType,
      bytes: Buffer.byteLength(data, 'base64'),
    })),
  };
}
