/**
 * What a caller has used of its limits, and how that recovers. Pure. Each limit is a bucket that leaks: it
 * holds what may be used in one minute and empties by that much a minute, evenly. So a correction
 * (an estimate put right, tokens given back) counts whenever it comes; there are no windows to miss. The
 * script in `budget-script.ts` does the same arithmetic inside Redis.
 */
import type { RateLimits } from '../../contracts/config-file.ts';

export type LimitName = keyof RateLimits;

/** In this order they travel to Redis and are named in headers. */
export const limitNames = [
  'requestsPerMinute',
  'inputTokensPerMinute',
  'outputTokensPerMinute',
] as const satisfies readonly LimitName[];

export type Amounts = Record<LimitName, number>;

export interface Budget {
  /** Monotonic milliseconds at which `used` held. */
  atMs: number;
  readonly used: Amounts;
}

/** Use counts up to this many minutes' worth, so nobody is shut out for longer, whatever an engine reports. */
export const maxUsedMinutes = 10;
export const minuteMs = 60_000;

/** A turn that arrives takes this: room for its reply must be there, but is taken only when it has ended. */
export interface Request {
  readonly promptTokens: number;
}

export interface Verdict {
  /** The limit that refuses, the one that takes longest to have room; null: taken. */
  readonly refusedBy: LimitName | null;
  /** Milliseconds until all limits have room; 0 when taken. */
  readonly waitMs: number;
  /** After the decision. */
  readonly used: Amounts;
}

export function emptyBudget(nowMs: number): Budget {
  return { atMs: nowMs, used: { requestsPerMinute: 0, inputTokensPerMinute: 0, outputTokensPerMinute: 0 } };
}

/** Takes all that the request needs, or nothing of any limit. */
export function take(budget: Budget, limits: RateLimits, request: Request, nowMs: number): Verdict {
  recover(budget, limits, nowMs);
  let refusedBy: LimitName | null = null;
  let waitMs = 0;
  const needs: Amounts = {
    requestsPerMinute: 1,
    inputTokensPerMinute: request.promptTokens,
    outputTokensPerMinute: 1,
  };
  for (const name of limitNames) {
    const limit = limits[name];
    if (limit === undefined) continue;
    const lackingMs = ((budget.used[name] + needs[name] - limit) * minuteMs) / limit;
    if (lackingMs <= waitMs) continue;
    refusedBy = name;
    waitMs = lackingMs;
  }
  if (refusedBy === null) {
    add(budget, limits, 'requestsPerMinute', 1);
    add(budget, limits, 'inputTokensPerMinute', request.promptTokens);
  }
  return { refusedBy, waitMs, used: { ...budget.used } };
}

/** Puts right what a turn took, up or down. */
export function adjust(
  budget: Budget,
  limits: RateLimits,
  inputTokens: number,
  outputTokens: number,
  nowMs: number,
): void {
  recover(budget, limits, nowMs);
  add(budget, limits, 'inputTokensPerMinute', inputTokens);
  add(budget, limits, 'outputTokensPerMinute', outputTokens);
}

function recover(budget: Budget, limits: RateLimits, nowMs: number): void {
  const elapsedMs = Math.max(0, nowMs - budget.atMs);
  budget.atMs = nowMs;
  for (const name of limitNames) {
    const limit = limits[name] ?? 0;
    const known = Math.min(budget.used[name], limit * maxUsedMinutes);
    budget.used[name] = Math.max(0, known - (elapsedMs * limit) / minuteMs);
  }
}

function add(budget: Budget, limits: RateLimits, name: LimitName, amount: number): void {
  const most = (limits[name] ?? 0) * maxUsedMinutes;
  budget.used[name] = Math.min(most, Math.max(0, budget.used[name] + amount));
}
