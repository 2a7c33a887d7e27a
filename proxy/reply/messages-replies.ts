/**
 * The replies of Anthropic's messages, streamed and whole. A stream is whole with `message_stop`, and its
 * outcome is known with the stop reason before it.
 */
import { isObject, objectsIn, textOf, type Json } from '../foreign-json.ts';
import { isError } from './error-events.ts';
import type { FactCollector } from './reply-facts.ts';
import type { EventKind, ReplyDialect } from './reply-reader.ts';
import { AnthropicUsage } from './usage-fields.ts';

/** One for each reply: its usage comes in parts. */
export function messagesDialect(): ReplyDialect {
  const usage = new AnthropicUsage();
  return {
    readEvent: (event, name, collector) => readEvent(event, name, usage, collector),
    readBody: (body, collector) => {
      if (isError(body)) collector.failed = true;
      readMessage(body, usage, collector);
    },
  };
}

function readEvent(event: Json, name: string, usage: AnthropicUsage, collector: FactCollector): EventKind {
  const type = textOf(event['type']) ?? name;
  if (type === 'error' || isError(event)) collector.failed = true;
  const { message, delta, content_block: block } = event;
  if (isObject(message)) readMessage(message, usage, collector);
  if (isObject(block)) readBlock(block, collector);
  if (isObject(delta)) {
    readStopReason(delta, collector);
    if (outputFields.some((field) => textOf(delta[field]) !== null)) collector.outputPieces += 1;
  }
  usage.read(event['usage'], collector);
  if (type === 'message_stop') collector.closed = true;
  return 'other';
}

const outputFields = ['text', 'thinking', 'partial_json'];

function readMessage(message: Json, usage: AnthropicUsage, collector: FactCollector): void {
  for (const block of objectsIn(message['content'])) readBlock(block, collector);
  readStopReason(message, collector);
  usage.read(message['usage'], collector);
}

/** Tools that a server runs itself are blocks of other types. */
function readBlock(block: Json, collector: FactCollector): void {
  if (block['type'] === 'tool_use') collector.toolCall(block['id'], block['name']);
}

function readStopReason(value: Json, collector: FactCollector): void {
  const reason = textOf(value['stop_reason']);
  if (reason === null) return;
  collector.finishReason = reason;
  // The client is to send the reply back at once, as after a tool.
  if (reason === 'pause_turn') collector.callsTools = true;
}
