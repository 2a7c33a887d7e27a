/**
 * What follows a failed attempt of a turn: nothing, another replica, or being held again. Pure; the
 * failure table of the proxy, as far as it repeats anything.
 */
import { retryAfterMs } from '../contracts/retry-after.ts';
import { headerValue } from './forward/hop-headers.ts';
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
  /** The run's context, or what the request is about, is on one replica: it goes only there. */
  readonly pinned: boolean;
  /** Another healthy replica serves the model. */
  readonly otherReplica: boolean;
  /** Attempts of one turn after its first, of whatever kind: the engines see no more than one more than this. */
  readonly queueFullRetries: number;
  readonly queueFullDelayMs: number;
  readonly queueFullMaxDelayMs: number;
  /** Wall clock, for a Retry-After that is a date. */
  readonly nowMs: number;
}

/** The next attempt, or null when the client gets what happened. */
export function nextAttempt(result: RelayResult, attempt: Attempt, now: Circumstances): Attempt | null {
  if (attempt.number > now.queueFullRetries) return null;
  if (result.kind === 'unreachable') {
    const mayMove = !attempt.moved && !now.pinned && now.otherReplica;
    return mayMove ? { ...attempt, number: attempt.number + 1, moved: true, delayMs: 0 } : null;
  }
  if (result.kind !== 'kept') return null;
  return {
    number: attempt.number + 1,
    moved: attempt.moved,
    queueFull: attempt.queueFull + 1,
    delayMs: queueFullDelayMs(result.reply.headers, attempt.queueFull, now),
  };
}

/**
 * As long as the engine asks, else as configured, and each time twice as long: a queue that stays full
 * must not be asked at a steady pace.
 */
function queueFullDelayMs(headers: readonly string[], turnedAway: number, now: Circumstances): number {
  const asked = retryAfterMs(
    {
      retryAfterMs: headerValue(headers, 'retry-after-ms'),
      retryAfter: headerValue(headers, 'retry-after'),
    },
    now.nowMs,
  );
  const factor = 2 ** turnedAway;
  // Whoever asks for no wait at all is believed once.
  const shortestMs = turnedAway === 0 ? 0 : (now.queueFullDelayMs * factor) / 2;
  const delayMs = Math.max((asked ?? now.queueFullDelayMs) * factor, shortestMs);
  return Math.min(delayMs, now.queueFullMaxDelayMs);
}
