/**
 * The contexts that count as being in one replica's KV memory, and their sum. A beginning that several of
 * them share counts once: prefixes are rolling hashes, so an equal block means an equal beginning. Knows no
 * runs and decides nothing. Every operation costs O(blocks), at most 64.
 */
import { prefixBlockTokens } from './limits.ts';

export interface Context {
  /** Prompt and output. */
  readonly tokens: number;
  /** Rolling hashes of its beginning in blocks of `prefixBlockTokens`, oldest first. */
  readonly prefix: readonly string[];
}

export class Ledger {
  #tokens = 0;
  #contexts = 0;
  readonly #blocks = new Map<string, number>();

  /** Tokens of all contexts, shared beginnings once. */
  get tokens(): number {
    return this.#tokens;
  }

  get contexts(): number {
    return this.#contexts;
  }

  /** 0 when there is no context. */
  get meanTokens(): number {
    return this.#contexts === 0 ? 0 : this.#tokens / this.#contexts;
  }

  add(context: Context): void {
    this.#contexts += 1;
    this.#tokens += context.tokens;
    for (let index = 0; index < wholeBlocks(context); index += 1) {
      const block = context.prefix[index] ?? '';
      const sharers = this.#blocks.get(block) ?? 0;
      if (sharers > 0) this.#tokens -= prefixBlockTokens;
      this.#blocks.set(block, sharers + 1);
    }
  }

  /** @param context exactly as it was added */
  remove(context: Context): void {
    this.#contexts -= 1;
    this.#tokens -= context.tokens;
    for (let index = 0; index < wholeBlocks(context); index += 1) {
      const block = context.prefix[index] ?? '';
      const sharers = this.#blocks.get(block) ?? 0;
      if (sharers > 1) {
        this.#tokens += prefixBlockTokens;
        this.#blocks.set(block, sharers - 1);
      } else this.#blocks.delete(block);
    }
  }

  /** By how much the sum would grow with this context. */
  addedTokens(context: Context): number {
    const whole = wholeBlocks(context);
    const shared = leadingCount(whole, (index) => this.#blocks.has(context.prefix[index] ?? ''));
    return context.tokens - shared * prefixBlockTokens;
  }
}

/** Blocks of the prefix that lie within the context; an estimate of few tokens may have too many. */
function wholeBlocks({ tokens, prefix }: Context): number {
  return Math.min(prefix.length, Math.floor(tokens / prefixBlockTokens));
}

/** How many of `count` leading indices satisfy `holds`, given that none does after the first that does not. */
export function leadingCount(count: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
