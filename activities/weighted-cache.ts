/** A map bounded by the weight of its values; the least recently used go first. No value outlives the process. */

export interface WeightedCache<Value> {
  get(key: string): Value | undefined;
  /** A value heavier than the whole cache is not kept. */
  set(key: string, value: Value, weight: number): void;
  delete(key: string): void;
}

/** @param limit sum of the weights that are kept, in the callers' unit. */
export function createWeightedCache<Value>(limit: number): WeightedCache<Value> {
  const entries = new Map<string, { readonly value: Value; readonly weight: number }>();
  let total = 0;
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
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, weight) {
      drop(key);
      if (weight > limit) return;
      entries.set(key, { value, weight });
      total += weight;
      for (const oldest of entries.keys()) {
        if (total <= limit) break;
        drop(oldest);
      }
    },
    delete: drop,
  };
}
