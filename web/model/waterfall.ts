/**
 * The timeline of a run as bars: where each begins and how long it is in shares of the whole, and of which
 * parts it consists. Pure. What is not known yet is left out, never guessed: a turn at work is one part.
 */
import type { ChildRun, Outcome, Span, TurnSpan } from '../api/types.ts';
import { duration } from './words.ts';

export type PartKind =
  | 'queued'
  | 'held'
  | 'first-byte'
  | 'generation'
  | 'turn'
  | 'tool'
  | 'approval'
  | 'child'
  | 'pause';

export interface Part {
  readonly kind: PartKind;
  readonly startMs: number;
  readonly endMs: number;
}

export interface Bar {
  readonly key: string;
  readonly kind: 'turn' | 'tool' | 'approval' | 'child';
  readonly label: string;
  /** Beside the label: tokens, attempts. */
  readonly note: string;
  readonly outcome: Outcome;
  readonly startMs: number;
  readonly endMs: number;
  readonly parts: readonly Part[];
  /** All of it in words, for whoever does not see the bars. */
  readonly words: string;
  /** The run that it stands for. */
  readonly handle: string | null;
}

export interface Waterfall {
  readonly startMs: number;
  readonly endMs: number;
  readonly bars: readonly Bar[];
  /** When it was away from its engine: between two turns. */
  readonly pauses: readonly Part[];
}

export interface WaterfallInput {
  readonly spans: readonly Span[];
  readonly children: readonly ChildRun[];
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** The run is long, and only its newest part is known. */
  readonly earlierLeftOut: boolean;
  readonly nowMs: number;
}

export function waterfallOf(input: WaterfallInput): Waterfall {
  const { spans, children, startedAt, endedAt, earlierLeftOut, nowMs } = input;
  const own = spans.map((span, index) => barOf(span, index, nowMs));
  const knownFromMs = earlierLeftOut ? (own[0]?.startMs ?? nowMs) : Date.parse(startedAt);
  const shown = children
    .map((child) => childBar(child, nowMs))
    .filter(({ endMs }) => !earlierLeftOut || endMs > knownFromMs);
  const bars = [...own, ...shown].toSorted((a, b) => a.startMs - b.startMs);
  const startMs = bars.reduce((least, bar) => Math.min(least, bar.startMs), knownFromMs);
  const runEndMs = endedAt === null ? nowMs : Date.parse(endedAt);
  const endMs = bars.reduce((most, bar) => Math.max(most, bar.endMs), Math.max(runEndMs, startMs + 1));
  return { startMs, endMs, bars, pauses: pausesOf(bars, endedAt) };
}

function barOf(span: Span, index: number, nowMs: number): Bar {
  const startMs = Date.parse(span.startedAt);
  const endMs = Math.max(startMs, span.endedAt === null ? nowMs : Date.parse(span.endedAt));
  const base = { startMs, endMs, handle: null };
  const took = `${span.endedAt === null ? 'goes on for' : 'took'} ${duration(endMs - startMs)}`;
  switch (span.kind) {
    case 'turn':
      return { ...base, ...turnBar(span, startMs, endMs, index, took) };
    case 'tool': {
      const tries = span.attempts > 1 ? `attempt ${span.attempts}` : '';
      return {
        ...base,
        key: `tool-${index}`,
        kind: 'tool',
        label: span.tool,
        note: tries,
        outcome: span.outcome,
        parts: [{ kind: 'tool', startMs, endMs }],
        words: sentence(`Tool call ${span.tool}: ${span.outcome}, ${took}`, tries),
      };
    }
    case 'approval':
      return {
        ...base,
        key: `approval-${index}`,
        kind: 'approval',
        label: 'approval',
        note: span.tools.join(', '),
        outcome: span.endedAt === null ? 'running' : 'ok',
        parts: [{ kind: 'approval', startMs, endMs }],
        words: `Waiting for approval of ${span.tools.join(', ')}: ${took}`,
      };
    default:
      return span satisfies never;
  }
}

function turnBar(span: TurnSpan, startMs: number, endMs: number, index: number, took: string) {
  const parts = turnParts(span, startMs, endMs);
  const told = parts.map(({ kind, ...part }) => `${partWords[kind]} ${duration(part.endMs - part.startMs)}`);
  const tokens =
    span.promptTokens === null || span.completionTokens === null
      ? ''
      : `${span.promptTokens} + ${span.completionTokens} tokens`;
  const cached = span.cachedTokens === null || span.cachedTokens === 0 ? '' : `${span.cachedTokens} cached`;
  const tries = span.attempts > 1 ? `attempt ${span.attempts}` : '';
  const name = `turn ${span.turn ?? index + 1}`;
  return {
    key: `turn-${span.turn ?? 'x'}-${index}`,
    kind: 'turn' as const,
    label: name,
    note: [tokens, cached, tries].filter((text) => text !== '').join(', '),
    outcome: span.outcome,
    parts,
    words: sentence(`Model ${name}: ${span.outcome}, ${took}`, ...told, tokens, cached, tries),
  };
}

export const partWords: Readonly<Record<PartKind, string>> = {
  queued: 'queue and start',
  held: 'held',
  'first-byte': 'to first byte',
  generation: 'generation',
  turn: 'turn at work',
  tool: 'tool call',
  approval: 'waits for approval',
  child: 'child run',
  pause: 'away from the engine',
};

function sentence(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('; ');
}

/** The end of an attempt is known, so its parts are laid out backwards from there. */
function turnParts(span: TurnSpan, startMs: number, endMs: number): Part[] {
  const { heldMs, modelMs, firstByteMs } = span;
  if (span.endedAt === null || heldMs === null || modelMs === null) return [{ kind: 'turn', startMs, endMs }];
  const admittedMs = Math.max(startMs, endMs - modelMs);
  const sentMs = Math.max(startMs, admittedMs - heldMs);
  const firstMs = firstByteMs === null ? admittedMs : Math.min(endMs, admittedMs + firstByteMs);
  const parts: Part[] = [
    { kind: 'queued', startMs, endMs: sentMs },
    { kind: 'held', startMs: sentMs, endMs: admittedMs },
    { kind: 'first-byte', startMs: admittedMs, endMs: firstMs },
    { kind: 'generation', startMs: firstMs, endMs },
  ];
  return parts.filter((part) => part.endMs > part.startMs);
}

function childBar(child: ChildRun, nowMs: number): Bar {
  const startMs = Date.parse(child.startedAt);
  const endMs = Math.max(startMs, child.endedAt === null ? nowMs : Date.parse(child.endedAt));
  const outcome: Outcome =
    child.status === 'Completed'
      ? 'ok'
      : child.status === 'Failed'
        ? 'failed'
        : child.status === 'Cancelled'
          ? 'cancelled'
          : 'running';
  return {
    key: child.handle,
    kind: 'child',
    label: child.task,
    note: child.status,
    outcome,
    startMs,
    endMs,
    parts: [{ kind: 'child', startMs, endMs }],
    words: `Child run ${child.task}: ${child.status}, ${duration(endMs - startMs)}`,
    handle: child.handle,
  };
}

function pausesOf(bars: readonly Bar[], endedAt: string | null): Part[] {
  const turns = bars.filter(({ kind }) => kind === 'turn');
  const pauses = turns.slice(1).flatMap((turn, index): Part[] => {
    const before = turns[index]?.endMs ?? turn.startMs;
    return turn.startMs > before ? [{ kind: 'pause', startMs: before, endMs: turn.startMs }] : [];
  });
  const last = turns.at(-1);
  const lastEnd = bars.reduce((most, bar) => Math.max(most, bar.endMs), 0);
  // Tools or a user keep it away now.
  if (last !== undefined && last.outcome !== 'running' && endedAt === null && lastEnd > last.endMs) {
    pauses.push({ kind: 'pause', startMs: last.endMs, endMs: lastEnd });
  }
  return pauses;
}

/** Marks of a time axis, at most so many: milliseconds from its start, at round places. Pure. */
export function ticks(lengthMs: number, most = 6): number[] {
  const steps = [1, 2, 5].flatMap((step) => Array.from({ length: 12 }, (_, power) => step * 10 ** power));
  const step = steps.toSorted((a, b) => a - b).find((one) => lengthMs / one <= most - 1) ?? lengthMs;
  return Array.from({ length: Math.floor(lengthMs / step) + 1 }, (_, index) => index * step);
}
