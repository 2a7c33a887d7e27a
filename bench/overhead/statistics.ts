/**
 * What is made of samples: quantiles of one window, and what a gateway adds to a direct call. Pure.
 *
 * Added is the difference of the same quantile of two windows of the same repeat, one through the gateway
 * and one direct: `p99(gateway) - p99(direct)`, not a quantile of differences, since no request is sent
 * twice. Over the repeats the median of these differences counts, with the lowest and the highest beside it.
 */
import { quantile, spreadOf, type Spread } from '../sim/statistics.ts';

export interface Quantiles {
  readonly count: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

export function quantilesOf(samples: readonly number[]): Quantiles {
  return {
    count: samples.length,
    p50: quantile(samples, 0.5),
    p90: quantile(samples, 0.9),
    p99: quantile(samples, 0.99),
    max: quantile(samples, 1),
  };
}

export type QuantileName = 'p50' | 'p90' | 'p99';

/**
 * @param through windows of the gateway, one a repeat.
 * @param direct windows of the direct calls, in the same order of repeats.
 * @returns the spread of the differences; all null when a repeat is missing or has no samples on one side.
 */
export function addedOver(
  direct: readonly Quantiles[],
  through: readonly Quantiles[],
  name: QuantileName,
): Spread {
  if (through.length !== direct.length) return { median: null, lowest: null, highest: null };
  return spreadOf(
    through.map((window, repeat) => {
      const base = direct[repeat]?.[name] ?? null;
      const value = window[name];
      return value === null || base === null ? null : value - base;
    }),
  );
}

/**
 * Ratio of two arms repeat by repeat.
 * @returns its spread; all null when a repeat is missing or nothing was served on the other side.
 */
export function ratioOver(ours: readonly (number | null)[], theirs: readonly (number | null)[]): Spread {
  if (ours.length !== theirs.length) return { median: null, lowest: null, highest: null };
  return spreadOf(
    ours.map((value, repeat) => {
      const other = theirs[repeat] ?? null;
      return value === null || other === null || other === 0 ? null : value / other;
    }),
  );
}

/** As it stands in tables: `0.84 (0.80-0.91)`, or `-` when there is nothing. */
export function spreadText({ median, lowest, highest }: Spread, digits: number): string {
  if (median === null || lowest === null || highest === null) return '-';
  return `${median.toFixed(digits)} (${lowest.toFixed(digits)}..${highest.toFixed(digits)})`;
}
