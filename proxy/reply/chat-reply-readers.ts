/**
 * Reads the replies of OpenAI's chat completions, streamed and whole, as engines really write them:
 * usage on the last chunk or beside the finish reason, tool calls without index, id or name, events
 * without data, errors inside a 200. Foreign input: whatever does not fit is passed over.
 */
import { EventReader } from './event-reader.ts';
import { FactCollector, type ReplyFacts } from './reply-facts.ts';
import type { ReplyReader, StreamReader } from './reply-reader.ts';

type Json = Record<string, unknown>;

export class ChatStreamReader implements StreamReader {
  readonly #collector = new FactCollector();
  readonly #events = new EventReader((data) => this.#onData(data));
  #lastEvent: 'usage-only' | 'other' | null = null;

  feed(bytes: Uint8Array): void {
    this.#events.feed(bytes);
  }

  end(): void {
    this.#events.end();
  }

  facts(): ReplyFacts {
    return this.#collector.facts(!this.#events.stopped);
  }

  /** Cheaper than {@link facts}: asked once an event. */
  get finished(): boolean {
    return this.#collector.finishReason !== null;
  }

  takeLastEvent(): 'usage-only' | 'other' | null {
    const last = this.#lastEvent;
    this.#lastEvent = null;
    return last;
  }

  #onData(data: string): void {
    this.#lastEvent = 'other';
    if (data === '[DONE]') {
      this.#collector.closed = true;
      return;
    }
    const chunk = parseObject(data);
    if (chunk === null) return;
    const hasUsage = readUsage(chunk['usage'], this.#collector);
    if (isObject(chunk['error'])) this.#collector.failed = true;
    const choices = listOf(chunk['choices']);
    if (hasUsage && choices.length === 0) this.#lastEvent = 'usage-only';
    for (const choice of choices) readChoice(choice, choice['delta'], this.#collector);
  }
}

/** Bytes of a whole reply that are kept to be read; larger ones are not read at all. */
const maxBodyBytes = 4 * 1024 * 1024;

export class ChatBodyReader implements ReplyReader {
  readonly #collector = new FactCollector();
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #complete = true;

  feed(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes > maxBodyBytes) {
      this.#chunks = [];
      this.#complete = false;
      return;
    }
    this.#chunks.push(bytes);
  }

  end(): void {
    if (!this.#complete) return;
    const body = parseObject(Buffer.concat(this.#chunks).toString('utf8'));
    this.#chunks = [];
    this.#complete = body !== null;
    if (body === null) return;
    readUsage(body['usage'], this.#collector);
    this.#collector.closed = true;
    for (const choice of listOf(body['choices'])) readChoice(choice, choice['message'], this.#collector);
  }

  facts(): ReplyFacts {
    return this.#collector.facts(this.#complete);
  }
}

function readChoice(choice: Json, message: unknown, collector: FactCollector): void {
  const reason = choice['finish_reason'];
  if (typeof reason === 'string' && reason !== '') collector.finishReason = reason;
  if (!isObject(message)) return;
  const calls = listOf(message['tool_calls']);
  for (const call of calls) {
    collector.toolCall(call['id'], isObject(call['function']) ? call['function']['name'] : null);
  }
  if (isObject(message['function_call'])) collector.toolCall(null, message['function_call']['name']);
  if (calls.length > 0 || hasText(message['content']) || hasText(message['reasoning_content'])) {
    collector.outputPieces += 1;
  }
}

/** Whether there was a usage object. The last one counts: some engines send a running one. */
function readUsage(usage: unknown, collector: FactCollector): boolean {
  if (!isObject(usage)) return false;
  const promptTokens = count(usage['prompt_tokens']);
  const completionTokens = count(usage['completion_tokens']) ?? 0;
  if (promptTokens !== null) collector.usage = { promptTokens, completionTokens };
  const details = usage['prompt_tokens_details'];
  const cached = count(isObject(details) ? details['cached_tokens'] : usage['prompt_cache_hit_tokens']);
  if (cached !== null) collector.cachedTokens = cached;
  return true;
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function hasText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
