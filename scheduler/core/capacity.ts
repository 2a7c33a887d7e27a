/**
 * How many tokens of live contexts a replica may be given (`residency`): what its engine reports, less
 * a part, then corrected by what its cache really does. A context that was left there and is gone makes it
 * smaller, one that is still there while turns wait makes it larger. Unlimited until something is known.
 *
 * An engine with slots keeps one context in each, however small. Some keep what lost its slot in main memory,
 * and none says so: so contexts are not limited until one beyond the slots was gone.
 */
import type { CapacityReason, EngineLoad } from './events.ts';

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
/** Of a context, beyond the slots of an engine: how soon it is tried again whether it keeps one more. */
const hitContexts = 1 / 64;
/** One eviction makes many runs miss: they count once. */
const missEveryMs = 2_000;

export interface Capacity {
  /** As the engine last reported; null: it does not. */
  reportedTokens: number | null;
  /** In force; Infinity: not limited. */
  tokens: number;
  /** Slots, as the engine last reported them; null: it has none. */
  reportedContexts: number | null;
  /** In force; Infinity: not limited. Never below the slots. */
  contexts: number;
  /** What set either of them last. */
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
    reportedContexts: null,
    contexts: Number.POSITIVE_INFINITY,
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
export function takeReport(
  capacity: Capacity,
  { capacityTokens, capacityContexts }: Pick<EngineLoad, 'capacityTokens' | 'capacityContexts'>,
): boolean {
  if (capacityContexts !== null && capacityContexts > 0 && capacityContexts !== capacity.reportedContexts) {
    capacity.reportedContexts = capacityContexts;
    capacity.contexts = Number.POSITIVE_INFINITY;
  }
  if (capacityTokens === null || capacityTokens <= 0 || capacityTokens === capacity.reportedTokens) {
    return false;
  }
  capacity.reportedTokens = capacityTokens;
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

/** Whether a replica may be given so many contexts of so many tokens in all. */
export function fits(capacity: Capacity, contexts: number, tokens: number): boolean {
  return contexts <= capacity.contexts && tokens <= capacity.tokens;
}

/**
 * Contexts that the engine is taken to keep apart: those that are in force, else its slots; 0: it has no such
 * number.
 */
export function keptApart({ contexts, reportedContexts }: Capacity): number {
  return Number.isFinite(contexts) ? Math.floor(contexts) : (reportedContexts ?? 0);
}

/**
 * A context was gone. Counts only while the residents fit: what was let in earlier would push the capacity
 * far below the truth while it drains. One that was alone is no sign of too little memory. With more residents
 * than slots it was for want of a slot, and half of what is beyond them goes. Returns whether the capacity changed.
 */
export function noteMiss(capacity: Capacity, residents: Residents, nowMs: number): boolean {
  capacity.misses += 1;
  if (residents.contexts <= 1 || !fits(capacity, residents.contexts, residents.tokens)) return false;
  if (capacity.missedAtMs !== null && nowMs - capacity.missedAtMs < missEveryMs) return false;
  const slots = capacity.reportedContexts;
  if (slots !== null && residents.contexts > slots) {
    capacity.missedAtMs = nowMs;
    capacity.contexts = slots + Math.floor((residents.contexts - slots) / 2);
    capacity.reason = 'miss';
    return true;
  }
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
  if (!turnsWait) return false;
  capacity.contexts += hitContexts;
  const mostTokens = usableTokens(capacity);
  if (!Number.isFinite(capacity.tokens) || capacity.tokens >= mostTokens) return false;
  capacity.tokens = Math.min(mostTokens, capacity.tokens + residents.meanTokens * hitGrowth);
  capacity.reason = 'hit';
  return true;
}
