/**
 * How many tokens of live contexts a replica may be given (`residency`): what its engine reports, less
 * a part, then corrected by what its cache really does. A context that was left there and is gone makes it
 * smaller, one that is still there while turns wait makes it larger. Unlimited until something is known.
 */
import type { CapacityReason } from './events.ts';

/** Of what the engine reports; the rest is for foreign turns, replies that grow and what is not told. */
export const usableShare = 0.87;
/** A resumed turn found its context when at least this share of it was cached. */
const foundShare = 0.8;
const missFactor = 0.93;
/** Of a mean footprint. */
const hitGrowth = 0.03;
/** Of what a report allows: below it a miss is not for lack of memory, and the report stands. */
const leastShare = 0.5;
/** Made smaller so often without one hit between: this engine keeps nothing from turn to turn. */
const cachelessShrinks = 40;
/** One eviction makes many runs miss: they count once. */
const missEveryMs = 2_000;

export interface Capacity {
  /** As the engine last reported; null: it does not. */
  reportedTokens: number | null;
  /** In force; Infinity: not limited. */
  tokens: number;
  reason: CapacityReason;
  /** Whether any reply told how many prompt tokens were cached. */
  countsSeen: boolean;
  /** Core time of the last miss that counted; null: none. */
  missedAtMs: number | null;
  misses: number;
  /** How often it was made smaller since the last hit. */
  shrinksSinceHit: number;
  hits: number;
}

export function unknownCapacity(): Capacity {
  return {
    reportedTokens: null,
    tokens: Number.POSITIVE_INFINITY,
    reason: 'unlimited',
    countsSeen: false,
    missedAtMs: null,
    misses: 0,
    shrinksSinceHit: 0,
    hits: 0,
  };
}

/**
 * Whether contexts can be counted here: without a report and without cached counts they cannot, and where
 * nothing is ever found again, for want of a prefix cache, there is nothing to learn.
 */
export function isMeasurable({ reportedTokens, countsSeen, shrinksSinceHit }: Capacity): boolean {
  return reportedTokens !== null || (countsSeen && shrinksSinceHit < cachelessShrinks);
}

/** Takes over a report; a report like the last one leaves the corrections. Returns whether it is another. */
export function takeReport(capacity: Capacity, reportedTokens: number | null): boolean {
  if (reportedTokens === null || reportedTokens <= 0 || reportedTokens === capacity.reportedTokens) {
    return false;
  }
  capacity.reportedTokens = reportedTokens;
  capacity.tokens = usableTokens(capacity);
  capacity.reason = 'reported';
  capacity.missedAtMs = null;
  return true;
}

/** Of what the engine reports; Infinity where it does not. */
function usableTokens({ reportedTokens }: Capacity): number {
  return reportedTokens === null ? Number.POSITIVE_INFINITY : reportedTokens * usableShare;
}

/**
 * Whether a resumed turn found what its run had left.
 * @param leftTokens prompt and output of the run's last turn there
 */
export function foundContext(leftTokens: number, promptTokens: number, cachedTokens: number): boolean {
  return cachedTokens >= foundShare * Math.min(leftTokens, promptTokens);
}

export interface Residents {
  readonly contexts: number;
  /** Sum of the contexts there now. */
  readonly tokens: number;
  readonly meanTokens: number;
}

/**
 * A context was gone. Counts only while the residents fit: what was let in earlier would push the capacity
 * far below the truth while it drains. One that was alone is no sign of too little memory. Returns whether the
 * capacity changed.
 */
export function noteMiss(capacity: Capacity, residents: Residents, nowMs: number): boolean {
  capacity.misses += 1;
  if (residents.contexts <= 1 || residents.tokens > capacity.tokens) return false;
  if (capacity.missedAtMs !== null && nowMs - capacity.missedAtMs < missEveryMs) return false;
  const least = (capacity.reportedTokens ?? 0) * usableShare * leastShare;
  if (capacity.tokens <= least) return false;
  capacity.missedAtMs = nowMs;
  capacity.shrinksSinceHit += 1;
  capacity.tokens = Math.max(Math.min(capacity.tokens, residents.tokens) * missFactor, least);
  capacity.reason = 'miss';
  return true;
}

/** A context was still there. Returns whether the capacity changed: only if more turns want in, and up to the report. */
export function noteHit(capacity: Capacity, residents: Residents, turnsWait: boolean): boolean {
  capacity.hits += 1;
  capacity.shrinksSinceHit = 0;
  const mostTokens = usableTokens(capacity);
  if (!turnsWait || !Number.isFinite(capacity.tokens) || capacity.tokens >= mostTokens) return false;
  capacity.tokens = Math.min(mostTokens, capacity.tokens + residents.meanTokens * hitGrowth);
  capacity.reason = 'hit';
  return true;
}
