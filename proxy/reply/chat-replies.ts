/**
 * The replies of OpenAI's chat completions and completions, streamed and whole, as engines really write
 * them: usage on the last chunk, beside the finish reason, in a choice or in an extension; tool calls
 * without index, id or name; events without data; errors inside a 200.
 */
import { isObject, objectsIn, textOf, type Json } from '../foreign-json.ts';
import { hasError, isError } from './error-events.ts';
import type { FactCollector } from './reply-facts.ts';
import type { EventKind, ReplyDialect } from './reply-reader.ts';
import { readOpenAiUsage, readTimings } from './usage-fields.ts';

/** Completions differ only by their text, which stands in the choice itself. */
export const chatDialect: ReplyDialect = {
  readEvent: (event, type, collector) => readChunk(event, type, 'delta', collector),
  readBody: (body, collector) => void readChunk(body, '', 'message', collector),
};

function readChunk(chunk: Json, type: string, field: string, collector: FactCollector): EventKind {
  const failed = type === 'error' || isError(chunk);
  if (failed) collector.failed = true;
  const choices = objectsIn(chunk['choices']);
  for (const choice of choices) readChoice(choice, choice[field], collector);
  readTimings(chunk['timings'], collector);
  const hasUsage = readAnyUsage(chunk, collector);
  return hasUsage && choices.length === 0 && !failed ? 'usage-only' : 'other';
}

/**
 * Whether any usage can be in the event, by its bytes: without one of the names under which it stands there is none.
 * Quicker than to read it.
 */
export function mayHaveUsage(event: Buffer): boolean {
  return event.includes(usageName) || event.includes(metaName);
}

const usageName = Buffer.from('usage');
const metaName = Buffer.from('meta_info');

/** Where usage stands: at the top, in SGLang's meta data, in Groq's extension. */
function readAnyUsage(chunk: Json, collector: FactCollector): boolean {
  readOpenAiUsage(chunk['meta_info'], collector);
  const groq = chunk['x_groq'];
  if (isObject(groq)) readOpenAiUsage(groq['usage'], collector);
  return readOpenAiUsage(chunk['usage'], collector);
}

function readChoice(choice: Json, message: unknown, collector: FactCollector): void {
  const reason = textOf(choice['finish_reason']);
  if (reason !== null) collector.finishReason = reason;
  if (hasError(choice) || (reason !== null && failures.has(reason))) collector.failed = true;
  readOpenAiUsage(choice['usage'], collector);
  if (textOf(choice['text']) !== null) collector.outputPieces += 1;
  if (isObject(message)) readMessage(message, collector);
}

/** Finish reasons with which an engine says that it gave up. */
const failures: ReadonlySet<string> = new Set(['error', 'abort']);

function readMessage(message: Json, collector: FactCollector): void {
  const calls = objectsIn(message['tool_calls']);
  for (const call of calls) {
    collector.toolCall(call['id'], isObject(call['function']) ? call['function']['name'] : null);
  }
  if (isObject(message['function_call'])) collector.toolCall(null, message['function_call']['name']);
  if (calls.length > 0 || outputFields.some((name) => hasOutput(message[name]))) collector.outputPieces += 1;
}

const outputFields = ['content', 'reasoning_content', 'reasoning', 'refusal'];

/** Text, or the parts that some engines write in its place. */
function hasOutput(value: unknown): boolean {
  return textOf(value) !== null || (Array.isArray(value) && value.length > 0);
}
