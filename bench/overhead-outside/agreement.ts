/**
 * Whether two load generators say the same, each within its own error: half of the range of its repeats, and no
 * less than what a figure of this kind can be told apart by at all. Pure.
 */
import type { Spread } from '../sim/statistics.ts';

export interface Measured {
  readonly value: number;
  readonly error: number;
}

/** @param leastError a share of the value, or an absolute one, whichever is larger. */
export function measuredOf(
  { median, lowest, highest }: Spread,
  leastError: { readonly share: number; readonly absolute: number },
): Measured | null {
  if (median === null || lowest === null || highest === null) return null;
  const least = Math.max(leastError.share * Math.abs(median), leastError.absolute);
  return { value: median, error: Math.max((highest - lowest) / 2, least) };
}

/** How far they are apart, in units of both errors together: 1 and less is agreement. */
export function distanceOf(one: Measured | null, other: Measured | null): number | null {
  if (one === null || other === null) return null;
  return Math.abs(one.value - other.value) / (one.error + other.error);
}

export function measuredText(measured: Measured | null, digits: number): string {
  return measured === null ? '-' : `${measured.value.toFixed(digits)} ± ${measured.error.toFixed(digits)}`;
}
