/**
 * What an engine means when it refuses a request with 4xx or 500: a prompt that does not fit, an answer
 * that does not fit beside it, a malformed request, or a limit of its operator. Engines tell this in their
 * own words and shapes; the worker decides by it and the proxy's log names it. Pure. It never guesses:
 * words that name no size of a prompt are a bad request.
 */

export type RefusalKind = 'context_too_long' | 'output_budget' | 'bad_request' | 'rate_limit';

export interface EngineRefusal {
  readonly kind: RefusalKind;
  /** As the engine counted them; null: it does not say. */
  readonly promptTokens: number | null;
  /** Tokens that prompt and answer may have together, or the answer alone when only that was too long. */
  readonly limitTokens: number | null;
  /** The engine's own words, without their JSON. */
  readonly message: string;
}

/** Characters of a body that are looked at: the sentence stands at its beginning. */
const readCharacters = 8_192;

/**
 * @param body of the reply, as text.
 * @returns null for what is none of these: missing rights, an unknown model, a fault of the engine.
 */
export function readRefusal(status: number, body: string): EngineRefusal | null {
  if (status < 400) return null;
  const told = readBody(body.slice(0, readCharacters), body.length <= readCharacters);
  const size = sizeRefusal(told);
  if (status === 429 || told.kinds.some((kind) => /^rate_?limit/i.test(kind))) {
    return { kind: 'rate_limit', promptTokens: null, limitTokens: null, message: told.message };
  }
  if (size !== null && (status < 500 ? status !== 401 && status !== 403 : status === 500)) return size;
  return [400, 413, 422].includes(status)
    ? { kind: 'bad_request', promptTokens: null, limitTokens: null, message: told.message }
    : null;
}

/** For a log line: the class and the numbers, none of the engine's words. */
export function describeRefusal({ kind, promptTokens, limitTokens }: EngineRefusal): string {
  const numbers = [
    ...(promptTokens === null ? [] : [`prompt ${promptTokens}`]),
    ...(limitTokens === null ? [] : [`limit ${limitTokens}`]),
  ];
  return numbers.length === 0 ? kind : `${kind}: ${numbers.join(', ')}`;
}

interface Told {
  readonly message: string;
  /** `code` and `type` where they are text. */
  readonly kinds: readonly string[];
  /** Counts in fields of their own (llama.cpp). */
  readonly promptTokens: number | null;
  readonly contextTokens: number | null;
}

/** @param isWhole false: the text was cut, so it cannot be parsed. */
function readBody(text: string, isWhole: boolean): Told {
  const value = isWhole ? parse(text) : null;
  const outer = record(value);
  const inner = record(outer?.['error']) ?? outer;
  const words = [inner?.['message'], inner?.['detail'], outer?.['error'], value];
  const message = words.find((word): word is string => typeof word === 'string' && word !== '');
  return {
    message: (message ?? text).trim(),
    kinds: [inner?.['code'], inner?.['type']].filter((kind): kind is string => typeof kind === 'string'),
    promptTokens: count(inner?.['n_prompt_tokens']),
    contextTokens: count(inner?.['n_ctx']),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** Codes and types that say it without words. */
const sizeKinds: ReadonlySet<string> = new Set(['context_length_exceeded', 'exceed_context_size_error']);

/** Sentences that are about the size of prompt and answer. */
const sizeWords = [
  /context[ _](?:length|size|window|limit)/i,
  /max(?:imum)?[ _](?:allowed |input |model |seq(?:uence)? |number of )?(?:length|len|tokens)/i,
  /(?:prompt|input)s?\b.{0,40}\b(?:too long|too large|longer than|exceeds?|must have less than)/i,
  /max_(?:new_|completion_)?tokens.{0,60}(?:too large|too long|must be|should not)/i,
  /max_(?:model_len|seq_len|num_tokens)/i,
];

/** Ways to count the prompt, the surest first. */
const promptCounts = [
  /(\d+)(?:\.\d+)? (?:tokens )?(?:in|from) (?:the |your )?(?:input )?(?:messages|prompt|input)/i,
  /(\d+) (?:input|prompt|`inputs`) tokens/i,
  /(?:prompt|input) (?:is )?(?:too long|length)\D{0,12}(\d+)/i,
  /context limit: (\d+) \+/i,
  /(?:prompt|input)s?(?: token count)?(?: of)?[ (]+(?:length )?\(?(\d+)/i,
  /(?:resulted in|came to|prompt contains(?: at least)?|given:?) (\d+)/i,
];

/** Ways to name the limit, the surest first. */
const limitCounts = [
  /context limit: \d+ \+ \d+ > (\d+)/i,
  /> (\d+) (?:tokens )?maximum/i,
  /(?:context[ _](?:length|size|window|limit)|model(?:'s)? (?:maximum )?length|allowed length)\D{0,24}?(\d+)/i,
  /(?:max_seq_len|max_model_len|max_num_tokens|tokens allowed)\D{0,16}(\d+)/i,
  /(?:must be <=|less than|at most|longer than \D{0,24}) ?\(?(\d+)/i,
];

const outputWords = /output tokens|completion|max_(?:new_|completion_)?tokens/i;
const promptWords = /(?:prompt|input|messages?)\b.{0,40}\b(?:too long|too large|longer than|exceed)/i;

function sizeRefusal(told: Told): EngineRefusal | null {
  const { message } = told;
  const isKind = told.kinds.some((kind) => sizeKinds.has(kind));
  if (!isKind && !sizeWords.some((words) => words.test(message))) return null;
  const promptTokens = told.promptTokens ?? firstCount(promptCounts, message);
  const limitTokens = told.contextTokens ?? firstCount(limitCounts, message);
  const refusal = { promptTokens, limitTokens, message };
  if (promptTokens !== null && limitTokens !== null) {
    const fits = promptTokens < limitTokens && outputWords.test(message);
    return { kind: fits ? 'output_budget' : 'context_too_long', ...refusal };
  }
  if (isKind || promptWords.test(message)) return { kind: 'context_too_long', ...refusal };
  if (outputWords.test(message)) return { kind: 'output_budget', ...refusal };
  // A size without any count or subject: only words of a context say that it is about the prompt.
  return /context[ _](?:length|size|window|limit)/i.test(message)
    ? { kind: 'context_too_long', ...refusal }
    : null;
}

function firstCount(patterns: readonly RegExp[], text: string): number | null {
  for (const pattern of patterns) {
    const found = pattern.exec(text)?.[1];
    if (found !== undefined) return Number(found);
  }
  return null;
}
