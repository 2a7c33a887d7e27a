/** Whether what is used stays the same: the last quarter's middle against that of the second. Pure. */
import { memberKinds, type MemberKind } from '../operate/cluster-plan.ts';
import { median } from '../sim/statistics.ts';
import type { FileSample } from './file-growth.ts';
import type { Sample } from './survivors.ts';

export type Measure = 'rssBytes' | 'heapBytes' | 'files' | 'sockets';

export interface Quarters {
  readonly kind: MemberKind;
  readonly second: number | null;
  readonly last: number | null;
}

/** Of fewer samples a middle says nothing. */
const fewestSamples = 3;

export function quartersOf(samples: readonly Sample[], measure: Measure): readonly Quarters[] {
  return memberKinds.map((kind) => {
    const middle = (quarter: number): number | null => {
      const own = samples.filter((sample) => sample.kind === kind && sample.quarter === quarter);
      const values = own.flatMap((sample) => sample[measure] ?? []);
      return values.length < fewestSamples ? null : median(values);
    };
    return { kind, second: middle(2), last: middle(4) };
  });
}

/** The last quarter over the second; null: it could not be told. */
export function growthOf({ second, last }: Quarters): number | null {
  return second === null || last === null || second === 0 ? null : last / second;
}

/** How many more in the last quarter; null: it could not be told. */
export function moreOf({ second, last }: Quarters): number | null {
  return second === null || last === null ? null : last - second;
}

export interface FileGrowth {
  /** How many more there are in the last quarter than in the second; files that replace others are none. */
  readonly files: number;
  /** That are there at the end and were not in the second quarter. */
  readonly names: readonly string[];
  readonly bytes: number;
}

/** @returns null when too few samples were taken in either quarter. */
export function fileGrowthOf(samples: readonly FileSample[]): FileGrowth | null {
  const of = (wanted: number): readonly FileSample[] => samples.filter(({ quarter }) => quarter === wanted);
  const [before, after] = [of(2), of(4)];
  if (before.length < fewestSamples || after.length < fewestSamples) return null;
  const grown = (measure: (sample: FileSample) => number): number =>
    (median(after.map(measure)) ?? 0) - (median(before.map(measure)) ?? 0);
  const known = new Set(before.flatMap(({ names }) => names));
  return {
    files: grown(({ names }) => names.length),
    names: (after.at(-1)?.names ?? []).filter((name) => !known.has(name)),
    bytes: grown(({ bytes }) => bytes),
  };
}
