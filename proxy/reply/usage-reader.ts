/**
 * Reads the usage of a reply that is otherwise nobody's business here: vectors and scores, which can be
 * megabytes. Keeps only its beginning and its end, where engines write the usage (llama.cpp and the rerankers
 * before the data, the others after it), so the cost does not grow with the reply.
 */
import { countOf, isObject, parseObject, type Json } from '../foreign-json.ts';
import { nothingRead, type ReplyFacts } from './reply-facts.ts';
import type { StreamReader } from './reply-reader.ts';

const headBytes = 4 * 1024;
const tailBytes = 4 * 1024;
/** Braces within a usage object, its own included, and mentions of its name that are looked at. */
const maxTries = 16;
const field = /"(?:usage|meta)"\s*:/g;

export class UsageReader implements StreamReader {
  #head = Buffer.alloc(0);
  #tail = Buffer.alloc(0);
  #bytes = 0;
  #usage: ReplyFacts['usage'] = null;

  feed(bytes: Uint8Array): void {
    const before = this.#bytes;
    this.#bytes += bytes.length;
    if (before < headBytes) this.#head = Buffer.concat([this.#head, bytes.subarray(0, headBytes - before)]);
    const rest = bytes.subarray(Math.max(0, headBytes - before));
    if (rest.length === 0) return;
    const both =
      rest.length < tailBytes ? Buffer.concat([this.#tail, rest]) : Buffer.from(rest.slice(-tailBytes));
    this.#tail = both.subarray(-tailBytes);
  }

  end(): void {
    const head = this.#head.toString('utf8');
    const whole = this.#bytes <= headBytes + tailBytes;
    const found = whole
      ? parseObject(Buffer.concat([this.#head, this.#tail]).toString('utf8'))
      : (readEnd(this.#tail.toString('utf8')) ?? readBeginning(head));
    this.#usage = found === null ? null : usageOf(found);
  }

  /** Its replies are of no run: nothing follows from their end but at the end. */
  get finishing(): boolean {
    return false;
  }

  facts(): ReplyFacts {
    return { ...nothingRead, usage: this.#usage };
  }

  takeLastEvent(): null {
    return null;
  }
}

/** The last fields of a JSON object of which only the end is there: what follows must close it and no more. */
function readEnd(text: string): Json | null {
  const starts = [...text.matchAll(field)].map((match) => match.index).slice(-maxTries);
  for (const start of starts) {
    const fields = parseObject(`{${text.slice(start)}`);
    if (fields !== null) return fields;
  }
  return null;
}

/** The first fields of one of which only the beginning is there: what precedes must open it and no more. */
function readBeginning(text: string): Json | null {
  let end = text.search(field);
  for (let tries = 0; end >= 0 && tries < maxTries; tries += 1) {
    end = text.indexOf('}', end + 1);
    const fields = end < 0 ? null : parseObject(`${text.slice(0, end + 1)}}`);
    if (fields !== null) return fields;
  }
  return null;
}

/** OpenAI's and Jina's usage, and Cohere's `meta`. */
function usageOf({ usage, meta }: Json): ReplyFacts['usage'] {
  if (isObject(usage)) {
    const total = countOf(usage['total_tokens']);
    const promptTokens = countOf(usage['prompt_tokens']) ?? total;
    if (promptTokens === null) return null;
    const completionTokens = countOf(usage['completion_tokens']) ?? Math.max(0, (total ?? 0) - promptTokens);
    return { promptTokens, completionTokens };
  }
  const tokens = isObject(meta) ? meta['tokens'] : null;
  const promptTokens = isObject(tokens) ? countOf(tokens['input_tokens']) : null;
  if (promptTokens === null || !isObject(tokens)) return null;
  return { promptTokens, completionTokens: countOf(tokens['output_tokens']) ?? 0 };
}
