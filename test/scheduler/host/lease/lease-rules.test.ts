/** The rules of a lease as tables: what a contender does next, and what comes of it. */
import { describe, expect, it } from 'vitest';
import type { Instant } from '../../../../scheduler/host/lease/lease-clock.ts';
import {
  createContender,
  hasten,
  holderOf,
  isActive,
  nextMove,
  nobodyYet,
  noteFailed,
  noteRead,
  noteWritten,
  type Contender,
} from '../../../../scheduler/host/lease/lease-rules.ts';
import type { LeaseEntry } from '../../../../scheduler/host/lease/lease-store.ts';
import { leaseTimes, longestDurationMs } from '../../../../scheduler/host/lease/lease-times.ts';

const { durationMs, heldForMs, renewEveryMs, retryMs } = leaseTimes;
const at = (ms: number, missedMs = 0): Instant => ({ slowMs: ms, fastMs: ms + missedMs });
const contender = (): Contender => createContender('me', leaseTimes);
const entry = (version: string | null, holder: string | null, duration = durationMs): LeaseEntry => ({
  version,
  record: version === null ? null : { holder, durationMs: duration, linkedProxies: 2 },
});
const unreadable = (version: string): LeaseEntry => ({ version, record: null });

function active(ms = 0): Contender {
  const one = contender();
  noteRead(one, entry('1', null), at(ms));
  noteWritten(one, entry('2', 'me'), { started: at(ms), now: at(ms + 5) });
  return one;
}

describe('one that stands by', () => {
  it('reads before anything else', () => {
    expect(nextMove(contender(), at(0))).toEqual({ kind: 'read' });
  });

  it.each([
    ['that is given back, at once', entry('7', null), 0],
    ['of which it did not hear that it has it, at once', entry('7', 'me'), 0],
    ['of another, after it was seen unchanged for its duration', entry('7', 'other'), durationMs],
    ['that says nothing sensible, after the same time', unreadable('7'), durationMs],
    ['that is of nobody yet, after the same time', entry('7', nobodyYet), durationMs],
    ['that names a longer duration, after that', entry('7', 'other', 5_000), 5_000],
    [
      'that names a duration beyond sense, after the longest one',
      entry('7', 'other', 1e12),
      longestDurationMs,
    ],
    ['that names a shorter duration, after its own', entry('7', 'other', 1), durationMs],
  ])('takes a lease %s', (_words, seen, afterMs) => {
    const one = contender();
    noteRead(one, seen, at(1_000));
    const early = afterMs === 0 ? 'read' : nextMove(one, at(1_000 + afterMs - 1)).kind;
    expect(early).not.toBe('write');
    const takes = { kind: 'write', holder: 'me', version: seen.version };
    expect(nextMove(one, at(1_000 + afterMs))).toEqual(takes);
  });

  it('makes a lease that is not there at once, for nobody: it may have been removed from under its holder', () => {
    const one = contender();
    noteRead(one, entry(null, null), at(0));
    expect(nextMove(one, at(0))).toEqual({ kind: 'write', holder: nobodyYet, version: null });
    expect(noteWritten(one, entry('1', nobodyYet), { started: at(0), now: at(4) })).toBe(false);
    expect(isActive(one, at(4))).toBe(false);
    expect(nextMove(one, at(3 + durationMs)).kind).not.toBe('write');
    expect(nextMove(one, at(4 + durationMs))).toEqual({ kind: 'write', holder: 'me', version: '1' });
  });

  it('wakes when the lease lapses, not only when it looks the next time', () => {
    const one = contender();
    noteRead(one, entry('7', 'other'), at(0));
    noteRead(one, entry('7', 'other'), at(durationMs - 30));
    expect(nextMove(one, at(durationMs - 30))).toEqual({ kind: 'wait', forMs: 30 });
  });

  it('waits anew after each renewal, and not for reading the same again', () => {
    const one = contender();
    noteRead(one, entry('7', 'other'), at(0));
    noteRead(one, entry('8', 'other'), at(1_500));
    noteRead(one, entry('8', 'other'), at(3_000));
    expect(nextMove(one, at(1_500 + durationMs - 1)).kind).not.toBe('write');
    expect(nextMove(one, at(1_500 + durationMs)).kind).toBe('write');
  });

  it('does not count time in which the machine was suspended against another', () => {
    const one = contender();
    noteRead(one, entry('7', 'other'), at(0));
    expect(nextMove(one, at(1_000, 600_000)).kind).not.toBe('write');
  });

  it('keeps counting over failed looks', () => {
    const one = contender();
    noteRead(one, entry('7', 'other'), at(0));
    noteFailed(one, at(500));
    expect(nextMove(one, at(500 + retryMs))).toEqual({ kind: 'read' });
    noteRead(one, entry('7', 'other'), at(durationMs));
    expect(nextMove(one, at(durationMs)).kind).toBe('write');
  });

  it('looks again when another was first', () => {
    const one = contender();
    noteRead(one, entry('7', null), at(0));
    noteWritten(one, null, { started: at(0), now: at(3) });
    expect(isActive(one, at(3))).toBe(false);
    expect(nextMove(one, at(3))).toEqual({ kind: 'read' });
  });

  it('is not active by a write that took longer than it would hold', () => {
    const one = contender();
    noteRead(one, entry('7', null), at(0));
    expect(noteWritten(one, entry('8', 'me'), { started: at(0), now: at(heldForMs) })).toBe(false);
    expect(isActive(one, at(heldForMs))).toBe(false);
    expect(nextMove(one, at(heldForMs))).toEqual({ kind: 'write', holder: 'me', version: '8' });
  });
});

describe('the active one', () => {
  it('is active until its time is over, counted from before its write', () => {
    const one = active(100);
    expect(isActive(one, at(100 + heldForMs - 1))).toBe(true);
    expect(isActive(one, at(100 + heldForMs))).toBe(false);
  });

  it('renews in time, and is active for as long again', () => {
    const one = active();
    expect(nextMove(one, at(10))).toEqual({ kind: 'wait', forMs: renewEveryMs - 10 });
    expect(nextMove(one, at(renewEveryMs))).toEqual({ kind: 'write', holder: 'me', version: '2' });
    noteWritten(one, entry('3', 'me'), { started: at(renewEveryMs), now: at(renewEveryMs + 5) });
    expect(isActive(one, at(renewEveryMs + heldForMs - 1))).toBe(true);
  });

  it('is not revived by a renewal that comes out after its time', () => {
    const one = active();
    const now = at(heldForMs + 10);
    expect(noteWritten(one, entry('3', 'me'), { started: at(heldForMs - 20), now })).toBe(false);
    expect(isActive(one, now)).toBe(false);
  });

  it('counts time in which the machine was suspended', () => {
    expect(isActive(active(), at(20, heldForMs))).toBe(false);
  });

  it('stays active through failures until its time is over, and reads before it writes again', () => {
    const one = active();
    noteFailed(one, at(renewEveryMs));
    expect(isActive(one, at(heldForMs - 1))).toBe(true);
    expect(nextMove(one, at(renewEveryMs + retryMs))).toEqual({ kind: 'read' });
    noteRead(one, entry('3', 'me'), at(renewEveryMs + retryMs));
    expect(nextMove(one, at(renewEveryMs + retryMs))).toEqual({ kind: 'write', holder: 'me', version: '3' });
  });

  it.each([
    ['another holds', entry('9', 'other')],
    ['says nothing sensible', unreadable('9')],
    ['is not there', entry(null, null)],
    ['was given back in its name', entry('9', null)],
  ])('stands by at once when it reads a lease that %s', (_words, seen) => {
    const one = active();
    noteWritten(one, null, { started: at(renewEveryMs), now: at(renewEveryMs + 5) });
    expect(isActive(one, at(renewEveryMs + 5))).toBe(true);
    noteRead(one, seen, at(renewEveryMs + 10));
    expect(isActive(one, at(renewEveryMs + 10))).toBe(false);
  });

  it('writes news soon, and news that come together once', () => {
    const one = active();
    hasten(one, at(50));
    hasten(one, at(60));
    expect(nextMove(one, at(60))).toEqual({ kind: 'wait', forMs: 50 + retryMs - 60 });
  });

  it('is known as the holder, and so is another', () => {
    expect(holderOf(active())).toBe('me');
    const one = contender();
    expect(holderOf(one)).toBeNull();
    noteRead(one, entry('7', 'other'), at(0));
    noteFailed(one, at(1));
    expect(holderOf(one)).toBe('other');
  });
});

it('the times leave a third for clocks of different speed, and three seconds for a take-over', () => {
  expect(durationMs / heldForMs).toBeGreaterThanOrEqual(4 / 3);
  expect(renewEveryMs * 2 + retryMs).toBeLessThan(heldForMs);
  // Seen late, lapsed, found by the proxies.
  expect(leaseTimes.lookEveryMs + durationMs + 150).toBeLessThan(3_000);
});
