/**
 * Which beginnings of conversations a replica has probably still cached, for placement. Forgets like an
 * engine's prefix cache: the block used longest ago first, once more blocks are known than fit.
 */
import { leadingCount } from './ledger.ts';

export class PrefixMap {
  /** In order of use, the one used longest ago first. */
  readonly #blocks = new Set<string>();

  get size(): number {
    return this.#blocks.size;
  }

  /** Notes that a prompt with this prefix went there; its end is forgotten before its beginning. */
  use(prefix: readonly string[], maxBlocks: number): void {
    for (let index = prefix.length - 1; index >= 0; index -= 1) {
      const block = prefix[index] ?? '';
      this.#blocks.delete(block);
      this.#blocks.add(block);
    }
    if (this.#blocks.size <= maxBlocks) return;
    for (const block of this.#blocks) {
      if (this.#blocks.size <= maxBlocks) return;
      this.#blocks.delete(block);
    }
  }

  /** How many leading blocks of this prefix are known. */
  matchedBlocks(prefix: readonly string[]): number {
    return leadingCount(prefix.length, (index) => this.#blocks.has(prefix[index] ?? ''));
  }

  clear(): void {
    this.#blocks.clear();
  }
}
