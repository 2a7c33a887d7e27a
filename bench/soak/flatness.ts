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
      return own.length < fewestSamples ? null : median(own.map((sample) => sample[measure]));
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
  /** That are there at the end and were not in the second quarter. */
  readonly files: readonly string[];
  readonly bytes: number;
}

/**
 * Files that were there at the beginning of the second quarter against those that are there at the end.
 * @returns null without a sample of either.
 */
export function fileGrowthOf(samples: readonly FileSample[]): FileGrowth | null {
  const before = samples.find(({ quarter }) => quarter >= 2);
  const after = samples.at(-1);
  if (before === undefined || after === undefined || after === before) return null;
  return {
    files: after.names.filter((name) => !before.names.includes(name)),
    bytes: after.bytes - before.bytes,
  };
}
