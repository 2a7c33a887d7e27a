/**
 * What the runtime adds to a step, seen from outside: from when the engine and the tool server were asked
 * and when they had answered. A step goes from one turn's arrival at the engine to the next one's; what
 * neither the engine nor the tool spent of it, the runtime added. Pure.
 */

/** Milliseconds of one clock. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** A turn as its engine saw it; one record for each attempt. */
export interface EngineTurn extends Span {
  readonly run: string;
  /** From 1. */
  readonly turn: number;
}

export interface ToolSpan extends Span {
  readonly run: string;
}

export interface StepTime {
  readonly addedMs: number;
  /** From the end of the turn at its engine to the start of the tool. */
  readonly toToolMs: number;
  /** From the tool's end to the next turn's arrival. */
  readonly toTurnMs: number;
}

/**
 * The steps of one run: turns with exactly one tool call between them.
 * @throws Error when the record has a gap: a repeated turn, or a step without exactly one call.
 */
export function stepTimes(turns: readonly EngineTurn[], calls: readonly ToolSpan[]): readonly StepTime[] {
  const ordered = turns.toSorted((a, b) => a.startMs - b.startMs || a.turn - b.turn);
  return ordered.slice(0, -1).map((turn, index): StepTime => {
    const next = ordered[index + 1];
    if (next?.turn !== turn.turn + 1)
      throw new Error(`turn ${turn.turn} of ${turn.run} is not followed by the next`);
    // By its end: a call that starts with the next turn belongs to the step after.
    const between = calls.filter((call) => call.startMs >= turn.endMs && call.endMs <= next.startMs);
    const [call] = between;
    if (call === undefined || between.length > 1) {
      throw new Error(`${between.length} tool calls after turn ${turn.turn} of ${turn.run}, expected one`);
    }
    const toToolMs = call.startMs - turn.endMs;
    const toTurnMs = next.startMs - call.endMs;
    return { addedMs: toToolMs + toTurnMs, toToolMs, toTurnMs };
  });
}

export interface Throughput {
  readonly stepsPerSecond: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly steps: number;
}

/**
 * Steps a second while all runs were under way: from the last run's first turn to the first run's last
 * turn. Counted at the arrivals of turns after a run's first.
 * @returns null when there was no such time.
 */
export function throughputOf(turns: readonly EngineTurn[]): Throughput | null {
  const runs = new Map<string, { first: number; last: number }>();
  for (const { run, startMs } of turns) {
    const known = runs.get(run);
    if (known === undefined) runs.set(run, { first: startMs, last: startMs });
    else runs.set(run, { first: Math.min(known.first, startMs), last: Math.max(known.last, startMs) });
  }
  const spans = [...runs.values()];
  const fromMs = Math.max(...spans.map(({ first }) => first));
  const toMs = Math.min(...spans.map(({ last }) => last));
  if (spans.length === 0 || toMs <= fromMs) return null;
  const steps = turns.filter(({ turn, startMs }) => turn > 1 && startMs > fromMs && startMs <= toMs).length;
  return { stepsPerSecond: (steps * 1_000) / (toMs - fromMs), fromMs, toMs, steps };
}

/** Milliseconds from `sinceMs` until so many runs had their first turn at an engine; null: fewer ever had. */
export function untilRunning(turns: readonly EngineTurn[], runs: number, sinceMs: number): number | null {
  const first = new Map<string, number>();
  for (const { run, startMs } of turns) first.set(run, Math.min(first.get(run) ?? Infinity, startMs));
  const begun = [...first.values()].toSorted((a, b) => a - b)[runs - 1];
  return begun === undefined ? null : begun - sinceMs;
}

/**
 * History of the second half of a run's steps over the first half's, from the sizes of three finished runs:
 * without any step, with so many, and with twice as many.
 */
export function historyGrowth(sizes: {
  readonly none: number;
  readonly half: number;
  readonly all: number;
}): number {
  return (sizes.all - sizes.half) / (sizes.half - sizes.none);
}
