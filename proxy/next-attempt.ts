/**
 * What follows a failed attempt of a turn: nothing, another replica, or being held again. Pure; the
 * failure table of the proxy, as far as it repeats anything.
 */
import type { RelayResult } from './forward/relay.ts';

export interface Attempt {
  readonly number: number;
  /** A replica could not be reached, and this is the one more try. */
  readonly moved: boolean;
  /** How often an engine's full queue has turned it away. */
  readonly queueFull: number;
  /** Wait before it arrives again. */
  readonly delayMs: number;
}

export const firstAttempt: Attempt = { number: 1, moved: false, queueFull: 0, delayMs: 0 };

export interface Circumstances {
  /** The run's context is on one replica and its turns go only there. */
  readonly pinned: boolean;
  /** Another healthy replica serves the model. */
  readonly otherReplica: boolean;
  readonly queueFullRetries: number;
  readonly queueFullDelayMs: number;
  readonly queueFullMaxDelayMs: number;
  /** Wall clock, for a Retry-After that is a date. */
  readonly nowMs: number;
}

/** The next attempt, or null when the client gets what happened. */
export function nextAttempt(result: RelayResult, attempt: Attempt, now: Circumstances): Attempt | null {
  if (result.kind === 'unreachable') {
    const mayMove = !attempt.moved && !now.pinned && now.otherReplica;
    return mayMove ? { ...attempt, number: attempt.number + 1, moved: true, delayMs: 0 } : null;
  }
  if (result.kind === 'kept') {
    if (attempt.queueFull >= now.queueFullRetries) return null;
    const asked = retryAfterMs(result.reply.headers, now.nowMs) ?? now.queueFullDelayMs;
    return {
      number: attempt.number + 1,
      moved: attempt.moved,
      queueFull: attempt.queueFull + 1,
      delayMs: Math.min(asked, now.queueFullMaxDelayMs),
    };
  }
  return null;
}

/** Milliseconds that a Retry-After header asks for, as seconds or as a date; null when it is absent or rubbish. */
export function retryAfterMs(headers: readonly string[], nowMs: number): number | null {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() !== 'retry-after') continue;
    const value = (headers[index + 1] ?? '').trim();
    if (/^\d+(\.\d+)?$/.test(value)) return Math.round(Number(value) * 1000);
    const dateMs = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
    return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
  }
  return null;
}
