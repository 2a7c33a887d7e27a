/**
 * KV memory: a fixed number of blocks, shared by requests with the same prefix, and a cache of what the
 * unused ones still hold. Unused blocks stand in one list, least recently used first; a request that ends
 * gives its last block back first, so a prefix loses its tail before its head. Every operation costs
 * O(blocks it touches).
 */

const none = -1;

export interface BlockPool {
  readonly total: number;
  /** Requests that hold the block. */
  readonly references: Int32Array;
  /** What the block's contents are known by; null: nothing that can be found again. */
  readonly hashes: (number | null)[];
  readonly cached: Map<number, number>;
  /** Links of the list of unused blocks. */
  readonly previous: Int32Array;
  readonly next: Int32Array;
  oldest: number;
  newest: number;
  unused: number;
  /** Grows with each change that could let a blocked request in. */
  changes: number;
  evictions: number;
}

export function createBlockPool(total: number): BlockPool {
  const pool: BlockPool = {
    total,
    references: new Int32Array(total),
    hashes: Array.from({ length: total }, () => null),
    cached: new Map(),
    previous: new Int32Array(total).fill(none),
    next: new Int32Array(total).fill(none),
    oldest: none,
    newest: none,
    unused: 0,
    changes: 0,
    evictions: 0,
  };
  for (let block = 0; block < total; block += 1) appendUnused(pool, block);
  return pool;
}

function appendUnused(pool: BlockPool, block: number): void {
  pool.previous[block] = pool.newest;
  pool.next[block] = none;
  if (pool.newest === none) pool.oldest = block;
  else pool.next[pool.newest] = block;
  pool.newest = block;
  pool.unused += 1;
}

function prependUnused(pool: BlockPool, block: number): void {
  pool.next[block] = pool.oldest;
  pool.previous[block] = none;
  if (pool.oldest === none) pool.newest = block;
  else pool.previous[pool.oldest] = block;
  pool.oldest = block;
  pool.unused += 1;
}

function removeUnused(pool: BlockPool, block: number): void {
  const before = pool.previous[block] ?? none;
  const after = pool.next[block] ?? none;
  if (before === none) pool.oldest = after;
  else pool.next[before] = after;
  if (after === none) pool.newest = before;
  else pool.previous[after] = before;
  pool.previous[block] = none;
  pool.next[block] = none;
  pool.unused -= 1;
}

/** The blocks that hold the longest known prefix of `hashes`, at most `limit`; nothing is taken yet. */
export function findPrefix(pool: BlockPool, hashes: readonly number[], limit: number): number[] {
  const blocks: number[] = [];
  for (let index = 0; index < limit; index += 1) {
    const hash = hashes[index];
    const block = hash === undefined ? undefined : pool.cached.get(hash);
    if (block === undefined) break;
    blocks.push(block);
  }
  return blocks;
}

/** How many of `blocks` would leave the unused list if they were shared. */
export function countUnused(pool: BlockPool, blocks: readonly number[]): number {
  return blocks.reduce((count, block) => count + (pool.references[block] === 0 ? 1 : 0), 0);
}

/** One more request holds `block`. */
export function share(pool: BlockPool, block: number): void {
  const references = pool.references[block] ?? 0;
  if (references === 0) removeUnused(pool, block);
  pool.references[block] = references + 1;
}

/** Takes the least recently used block, forgetting what it held; null when every block is in use. */
export function take(pool: BlockPool): number | null {
  const block = pool.oldest;
  if (block === none) return null;
  removeUnused(pool, block);
  const hash = pool.hashes[block] ?? null;
  if (hash !== null) {
    pool.cached.delete(hash);
    pool.hashes[block] = null;
    pool.evictions += 1;
  }
  pool.references[block] = 1;
  return block;
}

/** From now on `block` can be found by `hash`, unless another block already is. */
export function remember(pool: BlockPool, block: number, hash: number): void {
  if (pool.hashes[block] !== null || pool.cached.has(hash)) return;
  pool.hashes[block] = hash;
  pool.cached.set(hash, block);
  pool.changes += 1;
}

/** A request gives `blocks` back, its last one first. */
export function release(pool: BlockPool, blocks: readonly number[]): void {
  for (let index = blocks.length - 1; index >= 0; index -= 1) {
    const block = blocks[index] ?? none;
    const references = (pool.references[block] ?? 0) - 1;
    pool.references[block] = references;
    if (references > 0) continue;
    if (pool.hashes[block] === null) prependUnused(pool, block);
    else appendUnused(pool, block);
  }
  pool.changes += 1;
}
