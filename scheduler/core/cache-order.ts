/**
 * A model of what an engine evicts next, for replicas that report their memory. Engines keep what finished runs
 * leave and evict what was used least recently; so a context that was paused before another run finished goes
 * before what that run left. Room that only leftovers younger than a paused resident take up is none.
 *
 * In use are the contexts that are generated on; unused are paused and left ones, the one used longest ago
 * first. Bounded by the memory: what would not fit is evicted here as it is there.
 */
import type { RunId } from '../../contracts/ids.ts';

interface Unused {
  tokens: number;
  /** Until when nobody may push it out; of no resident run: a time long gone. */
  keptUntilMs: number;
}

export class CacheOrder {
  readonly #inUse = new Map<RunId, number>();
  readonly #unused = new Map<RunId, Unused>();
  #tokens = 0;

  /** Everything that the engine holds by this model. */
  get tokens(): number {
    return this.#tokens;
  }

  /** A turn of the run is in flight; its context comes to `tokens`. */
  use(run: RunId, tokens: number, memoryTokens: number): void {
    this.#forget(run);
    this.#inUse.set(run, tokens);
    this.#tokens += tokens;
    this.#evict(memoryTokens);
  }

  /** No turn of the run is in flight any more. */
  leave(run: RunId, tokens: number, keptUntilMs: number, memoryTokens: number): void {
    this.#forget(run);
    this.#unused.set(run, { tokens, keptUntilMs });
    this.#tokens += tokens;
    this.#evict(memoryTokens);
  }

  /** The run is not resident any more: nobody minds the eviction of what it left. */
  release(run: RunId): void {
    const unused = this.#unused.get(run);
    if (unused !== undefined) unused.keptUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Whether so many tokens can be had without the eviction of a context that is kept. */
  hasRoom(tokens: number, memoryTokens: number, nowMs: number): boolean {
    let room = memoryTokens - this.#tokens;
    for (const unused of this.#unused.values()) {
      if (room >= tokens || unused.keptUntilMs > nowMs) break;
      room += unused.tokens;
    }
    return room >= tokens;
  }

  clear(): void {
    this.#inUse.clear();
    this.#unused.clear();
    this.#tokens = 0;
  }

  #forget(run: RunId): void {
    this.#tokens -= (this.#inUse.get(run) ?? 0) + (this.#unused.get(run)?.tokens ?? 0);
    this.#inUse.delete(run);
    this.#unused.delete(run);
  }

  #evict(memoryTokens: number): void {
    for (const [run, unused] of this.#unused) {
      const excess = this.#tokens - memoryTokens;
      if (excess <= 0) return;
      const evicted = Math.min(excess, unused.tokens);
      unused.tokens -= evicted;
      this.#tokens -= evicted;
      if (unused.tokens === 0) this.#unused.delete(run);
    }
  }
}
