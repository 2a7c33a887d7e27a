/**
 * How long runs have paused on each tool, to know the slow ones: a run that pauses on a slow tool does not
 * keep its place. For each tool name a small histogram whose counts are halved now and then, so that it
 * follows a tool that changes; the number of names is bounded.
 */
import { maxToolNames } from './limits.ts';

/** A tool is slow when the 3/4 quantile of the pauses on it is above this. */
export const slowToolMs = 30_000;
const quantile = 0.75;
/** Of a tool of which too little is known, and at most. */
const unknownKeptMs = 1_000;
const mostKeptMs = 5_000;
/** Pauses that must have been seen before a tool can be called slow. */
const fewestPauses = 4;
const mostPauses = 64;

/** Stands for the tools of runs that call them in plain text. No tool has an empty name. */
export const plainText = '';

/** Upper ends of the buckets; the last bucket has none. */
const boundsMs: readonly number[] = [
  250, 500, 750, 1_000, 1_250, 1_500, 2_000, 3_000, 5_000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000,
  120_000, 300_000,
];

interface Histogram {
  readonly counts: number[];
  pauses: number;
}

export type PauseStatistics = Map<string, Histogram>;

/**
 * Notes a pause of `ms`. After a reply with several tools the pause lasts as long as the slowest of them:
 * it counts for the one known as the slowest, or for each when none is known.
 */
export function notePause(statistics: PauseStatistics, toolNames: readonly string[], ms: number): void {
  const names = [...new Set(toolNames)];
  const known = names.filter((name) => statistics.has(name));
  const [slowest] = known.toSorted((a, b) => upperPauseMs(statistics, b) - upperPauseMs(statistics, a));
  for (const name of slowest === undefined ? names : [slowest]) add(statistics, name, ms);
}

/** Whether the pause on one of these tools will probably outlast any reservation. */
export function isSlow(statistics: PauseStatistics, toolNames: readonly string[]): boolean {
  return toolNames.some((name) => upperPauseMs(statistics, name) > slowToolMs);
}

/**
 * For how long from its pause nobody is let in who would push a run's context out: most pauses on its tools are
 * over by then. Later it is at the mercy of the engine, or one run that pauses for long would keep all others out.
 */
export function keptMs(statistics: PauseStatistics, toolNames: readonly string[]): number {
  const names = toolNames.length === 0 ? [plainText] : toolNames;
  const usualMs = names.map((name) => upperPauseMs(statistics, name)).filter((ms) => ms > 0);
  return usualMs.length === 0 ? unknownKeptMs : Math.min(mostKeptMs, Math.max(...usualMs));
}

/** The 3/4 quantile of past pauses on the tool, as the upper end of its bucket; 0 while too few are known. */
export function upperPauseMs(statistics: PauseStatistics, toolName: string): number {
  const histogram = statistics.get(toolName);
  if (histogram === undefined || histogram.pauses < fewestPauses) return 0;
  let left = histogram.pauses * quantile;
  for (const [index, count] of histogram.counts.entries()) {
    left -= count;
    if (left <= 0) return boundsMs[index] ?? Number.POSITIVE_INFINITY;
  }
  return Number.POSITIVE_INFINITY;
}

function add(statistics: PauseStatistics, name: string, ms: number): void {
  const histogram = statistics.get(name) ?? { counts: boundsMs.map(() => 0).concat(0), pauses: 0 };
  // Set anew, so that the map stays in order of use.
  statistics.delete(name);
  statistics.set(name, histogram);
  for (const oldest of statistics.keys()) {
    if (statistics.size <= maxToolNames) break;
    statistics.delete(oldest);
  }
  const bucket = boundsMs.findIndex((boundMs) => ms <= boundMs);
  const index = bucket < 0 ? boundsMs.length : bucket;
  histogram.counts[index] = (histogram.counts[index] ?? 0) + 1;
  histogram.pauses += 1;
  if (histogram.pauses >= mostPauses) halve(histogram);
}

function halve(histogram: Histogram): void {
  histogram.pauses = 0;
  for (const [index, count] of histogram.counts.entries()) {
    histogram.counts[index] = Math.floor(count / 2);
    histogram.pauses += Math.floor(count / 2);
  }
}
