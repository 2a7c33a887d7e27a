/**
 * Which replicas have seen which prefixes, as routers remember it: blocks of 1 KiB by hash, for each replica
 * the least recently used one forgotten beyond a bound.
 */
export class PrefixMap {
  readonly #seen: Map<string, null>[];
  readonly #maxBlocks: number;

  /** @param maxBlocks blocks remembered for each replica */
  constructor(replicas: number, maxBlocks: number) {
    this.#seen = Array.from({ length: replicas }, () => new Map<string, null>());
    this.#maxBlocks = maxBlocks;
  }

  /** How many blocks at the start of `prefix` the replica has seen. */
  matched(prefix: readonly string[], replica: number): number {
    const seen = this.#seen[replica];
    let count = 0;
    for (const hash of prefix) {
      if (seen?.has(hash) !== true) break;
      count += 1;
    }
    return count;
  }

  /** Share of the prefix that the replica has seen, 0 to 1. */
  share(prefix: readonly string[], replica: number): number {
    return prefix.length === 0 ? 0 : this.matched(prefix, replica) / prefix.length;
  }

  remember(prefix: readonly string[], replica: number): void {
    const seen = this.#seen[replica];
    if (seen === undefined) return;
    // The tail first, so that the head is the last to be forgotten.
    for (const hash of prefix.toReversed()) {
      seen.delete(hash);
      seen.set(hash, null);
    }
    for (const hash of seen.keys()) {
      if (seen.size <= this.#maxBlocks) break;
      seen.delete(hash);
    }
  }

  size(replica: number): number {
    return this.#seen[replica]?.size ?? 0;
  }
}
