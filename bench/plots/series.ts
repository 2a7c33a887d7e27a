/** From samples to the lines of a chart. Pure. */
import type { Point, Series } from './chart.ts';

const mostPoints = 200;

/** Share of the samples (0 to 100) that are at most x, by the nearest rank; thinned evenly by share. */
export function distribution(name: string, samples: readonly number[]): Series {
  const sorted = samples.toSorted((a, b) => a - b);
  const steps = Math.min(mostPoints, sorted.length);
  const points = Array.from({ length: steps }, (_, index): Point => {
    const rank = Math.ceil(((index + 1) / steps) * sorted.length);
    return { x: sorted[rank - 1] ?? 0, y: (rank / sorted.length) * 100 };
  });
  return { name, points };
}

/**
 * How often something happened, in a window that slides over the time.
 * @param atMs when it happened, in any order.
 * @returns events a minute at the end of each step, from the first whole window on; x in seconds.
 */
export function rateOverTime(
  name: string,
  atMs: readonly number[],
  { endMs, windowMs, stepMs }: { readonly endMs: number; readonly windowMs: number; readonly stepMs: number },
): Series {
  const points: Point[] = [];
  for (let toMs = windowMs; toMs <= endMs; toMs += stepMs) {
    const count = atMs.filter((at) => at > toMs - windowMs && at <= toMs).length;
    points.push({ x: toMs / 1_000, y: (count * 60_000) / windowMs });
  }
  return { name, points };
}
