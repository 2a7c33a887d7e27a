/**
 * Tokens as engines report them. Pure. OpenAI's two sets of names, Anthropic's, and where engines put
 * cached tokens beside them: vLLM, SGLang, TensorRT-LLM and OpenAI in the details of the prompt, DeepSeek
 * and Moonshot in the usage itself, llama.cpp in its timings.
 */
import { countOf, isObject, type Json } from '../foreign-json.ts';
import type { FactCollector } from './reply-facts.ts';

/**
 * Usage in either of OpenAI's shapes. The last one that tells something counts: some engines send a running
 * one, and some a second one that is empty.
 * @returns whether there was a usage object.
 */
export function readOpenAiUsage(usage: unknown, collector: FactCollector): boolean {
  if (!isObject(usage)) return false;
  const promptTokens = countOf(usage['prompt_tokens'] ?? usage['input_tokens']);
  const completionTokens = countOf(usage['completion_tokens'] ?? usage['output_tokens']) ?? 0;
  if (promptTokens !== null) collector.usage = { promptTokens, completionTokens };
  const details = usage['prompt_tokens_details'] ?? usage['input_tokens_details'];
  const cached = countOf(
    (isObject(details) ? details['cached_tokens'] : null) ??
      usage['prompt_cache_hit_tokens'] ??
      usage['cached_tokens'],
  );
  if (cached !== null) collector.cachedTokens = cached;
  return true;
}

/** llama.cpp's timings, for a reply of it that carries no usage. */
export function readTimings(timings: unknown, collector: FactCollector): void {
  if (!isObject(timings)) return;
  const cached = countOf(timings['cache_n']);
  if (cached !== null) collector.cachedTokens ??= cached;
  const evaluated = countOf(timings['prompt_n']);
  const completionTokens = countOf(timings['predicted_n']);
  if (evaluated === null || completionTokens === null) return;
  collector.usageHint = { promptTokens: evaluated + (cached ?? 0), completionTokens };
}

/**
 * Anthropic's usage, which is told in parts: the prompt at the start, the output at the end, and by some
 * engines all of it again with zeros in the place of what was told before. Its parts only ever grow.
 */
export class AnthropicUsage {
  readonly #seen = new Map<string, number>();

  read(usage: unknown, collector: FactCollector): void {
    if (!isObject(usage)) return;
    for (const name of ['input_tokens', 'output_tokens', cacheRead, cacheCreation]) this.#grow(usage, name);
    const input = this.#seen.get('input_tokens');
    if (input === undefined) return;
    collector.usage = {
      promptTokens: input + (this.#seen.get(cacheRead) ?? 0) + (this.#seen.get(cacheCreation) ?? 0),
      completionTokens: this.#seen.get('output_tokens') ?? 0,
    };
    collector.cachedTokens = this.#seen.get(cacheRead) ?? null;
  }

  #grow(usage: Json, name: string): void {
    const count = countOf(usage[name]);
    if (count !== null) this.#seen.set(name, Math.max(count, this.#seen.get(name) ?? 0));
  }
}

const cacheRead = 'cache_read_input_tokens';
const cacheCreation = 'cache_creation_input_tokens';
