/** Order statistics over plain lists; null where there is nothing to say. */

/** The value below which a share `quantile` (0 to 1) of `values` lies, by the nearest rank. */
export function quantile(values: readonly number[], share: number): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? null;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)];
  const lower = sorted[Math.ceil(middle) - 1];
  return upper === undefined || lower === undefined ? null : (upper + lower) / 2;
}

export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Jain's index of fairness: 1 when all are equal, 1/n when one has everything. */
export function jainIndex(values: readonly number[]): number | null {
  const sum = values.reduce((total, value) => total + value, 0);
  const squares = values.reduce((total, value) => total + value * value, 0);
  return squares === 0 ? null : (sum * sum) / (values.length * squares);
}

export interface Spread {
  readonly median: number | null;
  readonly lowest: number | null;
  readonly highest: number | null;
}

/** Over seeds; a value that is null on any seed makes the median null: a middle of the rest would mislead. */
export function spreadOf(values: readonly (number | null)[]): Spread {
  const known = values.filter((value) => value !== null);
  if (known.length < values.length || known.length === 0)
    return { median: null, lowest: null, highest: null };
  return { median: median(known), lowest: Math.min(...known), highest: Math.max(...known) };
}
