/**
 * A model of what an engine evicts next, for replicas that report their memory: in tokens, or in whole contexts
 * where each has a slot. Engines keep what finished runs leave and evict what was used least recently; so a context
 * that was paused before another run finished goes before what that run left. Room that only leftovers younger
 * than a paused resident take up is none.
 *
 * In use are the contexts that are generated on; unused are paused and left ones, the one used longest ago
 * first. Bounded by the memory: what would not fit is evicted here as it is there.
 */
import type { RunId } from '../../contracts/ids.ts';

interface Unused {
  size: number;
  /** Until when nobody may push it out; of no resident run: a time long gone. */
  keptUntilMs: number;
}

export class CacheOrder {
  readonly #inUse = new Map<RunId, number>();
  readonly #unused = new Map<RunId, Unused>();
  #size = 0;

  /** Everything that the engine holds by this model. */
  get size(): number {
    return this.#size;
  }

  /** A turn of the run is in flight; its context comes to `size`. */
  use(run: RunId, size: number, memory: number): void {
    this.#forget(run);
    this.#inUse.set(run, size);
    this.#size += size;
    this.#evict(memory);
  }

  /** No turn of the run is in flight any more. */
  leave(run: RunId, size: number, keptUntilMs: number, memory: number): void {
    this.#forget(run);
    this.#unused.set(run, { size, keptUntilMs });
    this.#size += size;
    this.#evict(memory);
  }

  /** The run is not resident any more: nobody minds the eviction of what it left. */
  release(run: RunId): void {
    const unused = this.#unused.get(run);
    if (unused !== undefined) unused.keptUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Whether so much can be had without the eviction of a context that is kept. */
  hasRoom(size: number, memory: number, nowMs: number): boolean {
    let room = memory - this.#size;
    for (const unused of this.#unused.values()) {
      if (room >= size || unused.keptUntilMs > nowMs) break;
      room += unused.size;
    }
    return room >= size;
  }

  clear(): void {
    this.#inUse.clear();
    this.#unused.clear();
    this.#size = 0;
  }

  #forget(run: RunId): void {
    this.#size -= (this.#inUse.get(run) ?? 0) + (this.#unused.get(run)?.size ?? 0);
    this.#inUse.delete(run);
    this.#unused.delete(run);
  }

  #evict(memory: number): void {
    for (const [run, unused] of this.#unused) {
      const excess = this.#size - memory;
      if (excess <= 0) return;
      const evicted = Math.min(excess, unused.size);
      unused.size -= evicted;
      this.#size -= evicted;
      if (unused.size === 0) this.#unused.delete(run);
    }
  }
}
