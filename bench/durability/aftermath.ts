/** What each kind of death did to what was going on, and how long until runs went on. Pure. */
import { partNames, type PartName } from './kill-plan.ts';
import type { ClientCall, EngineTurn, Kill, Observations, ObservedRun, ToolCallSeen } from './recorder.ts';
import { isUnknownOutcome, type TranscriptMessage, type Transcripts } from './verdict.ts';

/** How many of those in flight at the moment of a kill came to what; one in flight at two kills counts twice. */
export interface Fates {
  /** Ended as if nothing had happened, and its result counted. */
  readonly wentOn: number;
  /** Asked for again under the same identity. */
  readonly retried: number;
  /** Not repeated: the model was told that nobody knows. */
  readonly unknown: number;
}

export interface Aftermath {
  readonly part: PartName;
  readonly kills: number;
  /** Milliseconds until the part was ready again; median. */
  readonly downMs: number | null;
  readonly turns: Fates;
  readonly calls: Fates;
  readonly clientCalls: Fates;
  /** Runs that stood still, over all kills. */
  readonly stopped: number;
  /** Milliseconds until a run that stood still went on, where no other part died or was down meanwhile. */
  readonly goOnMs: {
    readonly median: number | null;
    readonly slowest: number | null;
    /** With whatever else died meanwhile. */
    readonly slowestOfSeveral: number | null;
    /** Runs that these are of. */
    readonly alone: number;
  };
}

export function aftermathOf(seen: Observations, transcripts: Transcripts): readonly Aftermath[] {
  const unknown = unknownCalls(transcripts);
  return partNames.map((part) => {
    const kills = seen.kills.filter((kill) => kill.part === part);
    const stops = kills.flatMap((kill) => stopsOf(kill, seen));
    const alone = stops.filter((stop) => stop.alone).map(({ goOnMs }) => goOnMs);
    const all = stops.map(({ goOnMs }) => goOnMs);
    const downs = kills.flatMap(({ atMs, backMs }) => (backMs === null ? [] : [backMs - atMs]));
    return {
      part,
      kills: kills.length,
      downMs: median(downs),
      turns: addFates(kills.map((kill) => fatesOfTurns(kill, seen.turns))),
      calls: addFates(kills.map((kill) => fatesOfCalls(kill, seen.calls, unknown))),
      clientCalls: addFates(kills.map((kill) => fatesOfClientCalls(kill, seen.clientCalls))),
      stopped: stops.length,
      goOnMs: {
        median: median(alone),
        slowest: largest(alone),
        slowestOfSeveral: largest(all),
        alone: alone.length,
      },
    };
  });
}

/** Whether every run that was open at the kill has gone on, or never stood still. */
export function allWentOn(kill: Kill, seen: Observations): boolean {
  return openAt(kill, seen.runs).every(
    (run) => firstSign(kill.atMs, run, seen) !== null || ranOn(kill.atMs, run, seen),
  );
}

/** A run that a kill made stand still. */
export interface SlowStop {
  readonly run: ObservedRun;
  readonly kill: Kill;
  readonly goOnMs: number;
  readonly alone: boolean;
  /** Kills of the last minute before this one, latest first. */
  readonly before: readonly { readonly part: PartName; readonly secondsBefore: number }[];
}

/** The longest of those that a death of this part made; those that stood alone, where any did. */
export function slowestStops(seen: Observations, part: PartName, count: number): readonly SlowStop[] {
  const stops = seen.kills
    .filter((kill) => kill.part === part)
    .flatMap((kill) =>
      stopsOf(kill, seen).map((stop) => ({ ...stop, kill, before: killsBefore(kill, seen.kills) })),
    );
  const alone = stops.filter((stop) => stop.alone);
  return (alone.length > 0 ? alone : stops).toSorted((a, b) => b.goOnMs - a.goOnMs).slice(0, count);
}

function killsBefore({ atMs }: Kill, kills: readonly Kill[]): SlowStop['before'] {
  return kills
    .filter((other) => other.atMs < atMs && atMs - other.atMs < 60_000)
    .map((other) => ({ part: other.part, secondsBefore: (atMs - other.atMs) / 1_000 }))
    .toSorted((a, b) => a.secondsBefore - b.secondsBefore);
}

interface Stop {
  readonly run: ObservedRun;
  readonly goOnMs: number;
  /** No other part died between the kill and the moment the run went on. */
  readonly alone: boolean;
}

/** Of each run that a kill made stand still: how long. */
function stopsOf(kill: Kill, seen: Observations): Stop[] {
  return openAt(kill, seen.runs).flatMap((run) => {
    if (ranOn(kill.atMs, run, seen)) return [];
    const sign = firstSign(kill.atMs, run, seen);
    if (sign === null) return [];
    const others = seen.kills.filter(
      (other) => other !== kill && other.atMs <= sign && (other.backMs ?? Infinity) >= kill.atMs,
    );
    return [{ run, goOnMs: sign - kill.atMs, alone: others.length === 0 }];
  });
}

function openAt({ atMs }: Kill, runs: readonly ObservedRun[]): ObservedRun[] {
  return runs.filter(
    (run) => run.handle !== null && run.startMs <= atMs && (run.endMs === null || run.endMs > atMs),
  );
}

interface Span {
  readonly startMs: number;
  readonly endMs: number | null;
}

function inFlight({ startMs, endMs }: Span, atMs: number): boolean {
  return startMs <= atMs && (endMs === null || endMs > atMs);
}

/** Something of the run was in flight and has ended by itself after the kill, or goes on still. */
function ranOn(atMs: number, { handle }: ObservedRun, { turns, calls }: Observations): boolean {
  return [...turns, ...calls].some(
    (one) => one.run === handle && inFlight(one, atMs) && (one.finished || one.endMs === null),
  );
}

/** When the run was first seen to do something new after `atMs`. */
function firstSign(atMs: number, run: ObservedRun, { turns, calls }: Observations): number | null {
  const starts = [...turns, ...calls].filter((one) => one.run === run.handle).map(({ startMs }) => startMs);
  const signs = [...starts, ...(run.endMs === null ? [] : [run.endMs])].filter((ms) => ms > atMs);
  return signs.length === 0 ? null : Math.min(...signs);
}

function fatesOfTurns({ atMs }: Kill, turns: readonly EngineTurn[]): Fates {
  const retried = (one: EngineTurn): boolean =>
    turns.some((other) => other.run === one.run && other.turn === one.turn && other.startMs > atMs);
  return countFates(
    turns.filter((one) => inFlight(one, atMs)),
    (one) => (retried(one) ? 'retried' : 'wentOn'),
  );
}

function fatesOfCalls({ atMs }: Kill, calls: readonly ToolCallSeen[], unknown: ReadonlySet<string>): Fates {
  const retried = (one: ToolCallSeen): boolean =>
    calls.some((other) => other.run === one.run && other.callId === one.callId && other.startMs > atMs);
  return countFates(
    calls.filter((one) => inFlight(one, atMs)),
    (one) => (retried(one) ? 'retried' : unknown.has(`${one.run}:${one.callId}`) ? 'unknown' : 'wentOn'),
  );
}

function fatesOfClientCalls({ atMs }: Kill, calls: readonly ClientCall[]): Fates {
  return countFates(
    calls.filter((one) => inFlight(one, atMs)),
    (one) => (one.failure === null ? 'wentOn' : 'retried'),
  );
}

/** Keys of calls whose outcome the model was told nobody knows. */
function unknownCalls(transcripts: Transcripts): ReadonlySet<string> {
  return new Set(
    [...transcripts].flatMap(([handle, messages]) =>
      messages
        .filter((message: TranscriptMessage) => isUnknownOutcome(message))
        .map((message) => `${handle}:${message.tool_call_id ?? ''}`),
    ),
  );
}

function countFates<T>(ones: readonly T[], fateOf: (one: T) => keyof Fates): Fates {
  const fates = { wentOn: 0, retried: 0, unknown: 0 };
  for (const one of ones) fates[fateOf(one)] += 1;
  return fates;
}

function addFates(all: readonly Fates[]): Fates {
  const total = { wentOn: 0, retried: 0, unknown: 0 };
  for (const fates of all)
    for (const fate of ['wentOn', 'retried', 'unknown'] as const) total[fate] += fates[fate];
  return total;
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

function largest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}
