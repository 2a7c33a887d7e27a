/**
 * A map bounded by the weight of its values and, if it is told to, by the time that they lie unused; the least
 * recently used go first. No value outlives the process.
 */

export interface WeightedCache<Value> {
  get(key: string): Value | undefined;
  /** A value heavier than the whole cache is not kept. */
  set(key: string, value: Value, weight: number): void;
  delete(key: string): void;
}

/** How long values may lie unused. */
export interface IdleBound {
  readonly idleMs: number;
  /** Milliseconds of any clock that only goes forward. */
  readonly nowMs: () => number;
}

/**
 * @param limit sum of the weights that are kept, in the callers' unit.
 * @param idle those that lie unused for longer go when another is set; null: none do.
 */
export function createWeightedCache<Value>(
  limit: number,
  idle: IdleBound | null = null,
): WeightedCache<Value> {
  interface Entry {
    readonly value: Value;
    readonly weight: number;
    readonly usedAtMs: number;
  }
  // In order of their last use: each use inserts anew.
  const entries = new Map<string, Entry>();
  let total = 0;
  const nowMs = (): number => idle?.nowMs() ?? 0;
  const drop = (key: string): void => {
    const entry = entries.get(key);
    if (entry === undefined) return;
    total -= entry.weight;
    entries.delete(key);
  };
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, { ...entry, usedAtMs: nowMs() });
      return entry.value;
    },
    set(key, value, weight) {
      drop(key);
      if (weight > limit) return;
      const now = nowMs();
      entries.set(key, { value, weight, usedAtMs: now });
      total += weight;
      for (const [oldest, { usedAtMs }] of entries) {
        const isIdle = idle !== null && now - usedAtMs > idle.idleMs;
        if (total <= limit && !isIdle) break;
        drop(oldest);
      }
    },
    delete: drop,
  };
}
