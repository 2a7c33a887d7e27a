/** Reads replies as the proxy does, and tells shortly what is known of them. */
import { DialectBodyReader } from '../../../proxy/reply/dialect-body-reader.ts';
import { DialectStreamReader } from '../../../proxy/reply/dialect-stream-reader.ts';
import { outcomeOfReply, wasCut, type ReplyFacts } from '../../../proxy/reply/reply-facts.ts';
import type { ReplyDialect } from '../../../proxy/reply/reply-reader.ts';

export type Json = Record<string, unknown>;

export function readStream(dialect: ReplyDialect, writes: readonly (Uint8Array | string)[]): ReplyFacts {
  const reader = new DialectStreamReader(dialect);
  for (const write of writes) reader.feed(typeof write === 'string' ? Buffer.from(write) : write);
  reader.end();
  return reader.facts();
}

/** @param body JSON, or the text of a body. */
export function readBody(dialect: ReplyDialect, body: unknown): ReplyFacts {
  const reader = new DialectBodyReader(dialect);
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  reader.feed(bytes.subarray(0, 5));
  reader.feed(bytes.subarray(5));
  reader.end();
  return reader.facts();
}

export function summary(facts: ReplyFacts): Json {
  return {
    outcome: outcomeOfReply(facts),
    cut: wasCut(facts),
    finish: facts.finishReason,
    ids: [...facts.toolCallIds],
    names: [...facts.toolNames],
    usage: facts.usage,
  };
}

/** Events named by their `type`, as Anthropic's and OpenAI's responses write them. */
export function namedEvents(...events: readonly Json[]): string {
  return events
    .map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

/** The same bytes in pieces of `size`. */
export function recut(text: string | Buffer, size: number): Buffer[] {
  const whole = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < whole.length; at += size) pieces.push(whole.subarray(at, at + size));
  return pieces;
}
