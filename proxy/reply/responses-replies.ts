/**
 * The replies of OpenAI's responses, streamed and whole. A stream is whole with its event of completion,
 * whichever way the response ended; tool calls are read from their items as they come, and again from the
 * response at the end, which some engines alone fill in.
 */
import { isObject, objectsIn, textOf, type Json } from '../foreign-json.ts';
import { isError } from './error-events.ts';
import type { FactCollector } from './reply-facts.ts';
import type { EventKind, ReplyDialect } from './reply-reader.ts';
import { readOpenAiUsage } from './usage-fields.ts';

export const responsesDialect: ReplyDialect = {
  readEvent,
  readBody: (body, collector) => {
    if (isError(body)) collector.failed = true;
    readResponse(body, collector);
  },
};

/** The states in which a response is over. */
const endings: ReadonlySet<string> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

function readEvent(event: Json, name: string, collector: FactCollector): EventKind {
  const type = textOf(event['type']) ?? name;
  const { response, item } = event;
  if (type === 'error' || isError(event)) collector.failed = true;
  if (isObject(response)) readResponse(response, collector);
  if (isObject(item)) readItem(item, collector);
  if (type.endsWith('.delta') && textOf(event['delta']) !== null) collector.outputPieces += 1;
  const ending = type.startsWith('response.') ? type.slice('response.'.length) : '';
  // Some engines leave the status of the response out: the event says it as well.
  if (endings.has(ending)) close(ending, isObject(response) ? response : {}, collector);
  return 'other';
}

function readResponse(response: Json, collector: FactCollector): void {
  collector.responseId ??= textOf(response['id']);
  readOpenAiUsage(response['usage'], collector);
  for (const item of objectsIn(response['output'])) readItem(item, collector);
  const status = textOf(response['status']);
  if (status !== null && endings.has(status)) close(status, response, collector);
}

function close(status: string, response: Json, collector: FactCollector): void {
  const details = response['incomplete_details'];
  const reason = isObject(details) ? textOf(details['reason']) : null;
  collector.finishReason = status === 'incomplete' ? (reason ?? status) : status;
  if (status === 'failed' || status === 'cancelled') collector.failed = true;
  collector.closed = true;
}

/**
 * A call that the client has to answer. What a server runs itself (web search, code, its own MCP) has an id
 * but no id of a call.
 */
function readItem(item: Json, collector: FactCollector): void {
  const type = textOf(item['type']) ?? '';
  if (type === 'mcp_approval_request') {
    collector.toolCall(item['id'], item['name']);
    return;
  }
  if (!type.endsWith('_call')) return;
  if (!clientCalls.has(type) && textOf(item['call_id']) === null) return;
  collector.toolCall(textOf(item['call_id']) ?? item['id'], textOf(item['name']) ?? type);
}

const clientCalls: ReadonlySet<string> = new Set(['function_call', 'custom_tool_call', 'local_shell_call']);
