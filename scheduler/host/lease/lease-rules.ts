/**
 * Who may be active when: one contender for a lease as data, and what each reading and writing of the lease makes
 * of it. Pure: it is told how time passes and what the store said.
 *
 * No two are ever active at one moment, as long as no clock runs a third faster than another: the holder counts
 * from before its write, whoever watches counts from after it has read that write, the holder's time is the
 * shorter one, and a write that comes out after the holder's time is over makes it active no more. No wall clock
 * is ever compared with another's.
 */
import type { Instant } from './lease-clock.ts';
import type { LeaseEntry, LeaseRecord } from './lease-store.ts';
import { longestDurationMs, type LeaseTimes } from './lease-times.ts';

interface Seen {
  readonly version: string | null;
  readonly record: LeaseRecord | null;
  /** `slowMs` of the first time it was seen. */
  readonly sinceMs: number;
}

export interface Contender {
  readonly identity: string;
  readonly times: LeaseTimes;
  /** null: the lease has not been read yet, or it may be another one than was read. */
  seen: Seen | null;
  /** Kept while `seen` is in doubt, so that an unchanged lease has not been seen for the first time. */
  lastSeen: Seen | null;
  /** `fastMs` until which it is active; null: it stands by. */
  activeUntilMs: number | null;
  /** `slowMs` of its next look or write. */
  dueMs: number;
}

export type Move =
  | { readonly kind: 'wait'; readonly forMs: number }
  | { readonly kind: 'read' }
  /** Takes the lease or renews it; or makes one that is nobody's yet. */
  | { readonly kind: 'write'; readonly holder: string; readonly version: string | null };

/**
 * Stands in a lease that was not there. It may have been removed from under its holder, so it is waited for like
 * that of anybody else; and unlike one that is not there, it cannot come, go and look the same.
 */
export const nobodyYet = 'nobody yet';

export function createContender(identity: string, times: LeaseTimes): Contender {
  return { identity, times, seen: null, lastSeen: null, activeUntilMs: null, dueMs: 0 };
}

/** Whether it may act now. Ask it right before every act. */
export function isActive({ activeUntilMs }: Contender, { fastMs }: Instant): boolean {
  return activeUntilMs !== null && fastMs < activeUntilMs;
}

export function standBy(contender: Contender): void {
  contender.activeUntilMs = null;
}

/** Who has the lease, as far as is known; null: nobody, or it is not known. */
export function holderOf({ lastSeen }: Contender): string | null {
  return lastSeen?.record?.holder ?? null;
}

/** What is to be done now. After it has been done, say what came of it and ask again. */
export function nextMove(contender: Contender, now: Instant): Move {
  if (!isActive(contender, now)) standBy(contender);
  const { seen, dueMs } = contender;
  if (now.slowMs < dueMs && !(seen !== null && mayTake(contender, seen, now))) {
    const lapsesInMs = seen === null ? Number.POSITIVE_INFINITY : lapsesAtMs(contender, seen) - now.slowMs;
    const untilDueMs = dueMs - now.slowMs;
    return { kind: 'wait', forMs: lapsesInMs > 0 ? Math.min(untilDueMs, lapsesInMs) : untilDueMs };
  }
  if (seen === null) return { kind: 'read' };
  if (seen.version === null) return { kind: 'write', holder: nobodyYet, version: null };
  if (isActive(contender, now) || mayTake(contender, seen, now)) {
    return { kind: 'write', holder: contender.identity, version: seen.version };
  }
  return { kind: 'read' };
}

/** The lease was read as `entry`; `now` is when the answer was there. */
export function noteRead(contender: Contender, entry: LeaseEntry, now: Instant): void {
  const { lastSeen, identity, times } = contender;
  const unchanged = lastSeen !== null && lastSeen.version === entry.version;
  see(contender, { ...entry, sinceMs: unchanged ? lastSeen.sinceMs : now.slowMs });
  // Somebody has taken it: its own time had been over for whoever did, or somebody broke the rules.
  if (entry.record?.holder !== identity) standBy(contender);
  const atOnce = isActive(contender, now) || entry.version === null;
  contender.dueMs = atOnce ? now.slowMs : now.slowMs + times.lookEveryMs;
}

/**
 * A write that began at `started` has come out: with `entry`, or with null because somebody else had written.
 * @returns whether it is active.
 */
export function noteWritten(
  contender: Contender,
  entry: LeaseEntry | null,
  { started, now }: { readonly started: Instant; readonly now: Instant },
): boolean {
  const { times, activeUntilMs } = contender;
  if (entry === null) {
    contender.seen = null;
    contender.dueMs = now.slowMs;
    return isActive(contender, now);
  }
  see(contender, { ...entry, sinceMs: now.slowMs });
  if (entry.record?.holder !== contender.identity) {
    contender.dueMs = now.slowMs + times.lookEveryMs;
    return false;
  }
  const untilMs = started.fastMs + times.heldForMs;
  const inTime = activeUntilMs === null ? now.fastMs < untilMs : now.fastMs < activeUntilMs;
  contender.activeUntilMs = inTime ? untilMs : null;
  contender.dueMs = inTime ? started.slowMs + times.renewEveryMs : now.slowMs;
  return inTime;
}

/** A read or a write failed, the write perhaps after it was done: what is there now must be read first. */
export function noteFailed(contender: Contender, now: Instant): void {
  contender.seen = null;
  contender.dueMs = now.slowMs + contender.times.retryMs;
}

/** For an active one that has news to write: news that come close together are written together. */
export function hasten(contender: Contender, now: Instant): void {
  contender.dueMs = Math.min(contender.dueMs, now.slowMs + contender.times.retryMs);
}

function see(contender: Contender, seen: Seen): void {
  contender.seen = seen;
  contender.lastSeen = seen;
}

/** Only of one that stands by: an active one renews. */
function mayTake(contender: Contender, seen: Seen, now: Instant): boolean {
  if (contender.activeUntilMs !== null) return false;
  const { record } = seen;
  // Given back; or its own, of a write of which it did not hear, which nobody else has replaced.
  if (record !== null && (record.holder === null || record.holder === contender.identity)) return true;
  return now.slowMs >= lapsesAtMs(contender, seen);
}

/** `slowMs` at which the lease of another has lapsed, if nobody writes until then. */
function lapsesAtMs({ times }: Contender, { record, sinceMs }: Seen): number {
  const named = Math.min(record?.durationMs ?? 0, longestDurationMs);
  return sinceMs + Math.max(times.durationMs, named);
}
