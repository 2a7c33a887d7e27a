/** What is asked, how often and in which order; the limits. Pure. */
import { textOf } from './inputs.ts';

export type DecideKind = 'one-shot' | 'labels';

export interface DecideCase {
  readonly kind: DecideKind;
  readonly concurrent: number;
}

export interface DecidePlan {
  readonly repeats: number;
  /** How often each arm has its turn within a repeat, for so many milliseconds. */
  readonly slices: number;
  readonly sliceMs: number;
  /** Requests of each case that do not count, for each arm. */
  readonly warmUpRequests: number;
  /** Requests of each case that both arms send, to compare what they are told. */
  readonly comparedRequests: number;
  readonly cases: readonly DecideCase[];
}

const cases: readonly DecideCase[] = [
  { kind: 'one-shot', concurrent: 1 },
  { kind: 'one-shot', concurrent: 20 },
  { kind: 'labels', concurrent: 1 },
  { kind: 'labels', concurrent: 20 },
];

/** @param quick shortens windows; repeats and bars stay. */
export function planOf(quick: boolean): DecidePlan {
  return {
    repeats: 3,
    slices: quick ? 2 : 3,
    sliceMs: quick ? 1_000 : 4_000,
    warmUpRequests: 60,
    comparedRequests: 40,
    cases,
  };
}

/** Latency through the proxy over direct, the middle of a window (`7-bench`). */
export const maxRatio = 1.1;

/** Labels of the generative case: as in a queue of letters that somebody has to sort. */
export const labels = ['refund', 'delivery', 'complaint', 'praise'] as const;

/** The request of this number; the same for every arm. */
export function requestOf(kind: DecideKind, number: number, model: string): object {
  const input = textOf(number);
  return kind === 'one-shot' ? { input, model } : { input, model, labels };
}

/** The arms in order: each slice begins with the other one. */
export function armsInOrder<Arm>(arms: readonly Arm[], turn: number): readonly Arm[] {
  return turn % 2 === 0 ? arms : arms.toReversed();
}
