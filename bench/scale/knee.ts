/**
 * Where more of a part stops to help, and whether the machine is why. A knee counts only while the machine has
 * processors to spare: with all of them busy, more processes can only share them. Pure.
 */

export interface ScalePoint {
  /** How many of the part. */
  readonly count: number;
  readonly perSecond: number;
  /** Processors that were busy, whoever used them; null: it cannot be told. */
  readonly busyCores: number | null;
}

/** Less than this share of the growth in parts is no growth with them. */
const linearShare = 0.8;
/** Above this share of its processors the machine is the limit. */
const busyShare = 0.9;

export interface Knee {
  readonly from: number;
  readonly to: number;
  readonly growth: number;
  readonly why: 'machine' | 'other';
}

/** @param points in order of their counts. @returns the first step that did not pay; null: each did. */
export function kneeOf(points: readonly ScalePoint[], cores: number): Knee | null {
  for (const [index, to] of points.entries()) {
    const from = points[index - 1];
    if (from === undefined) continue;
    const growth = to.perSecond / from.perSecond;
    if (growth >= linearShare * (to.count / from.count)) continue;
    const busy = Math.max(from.busyCores ?? 0, to.busyCores ?? 0);
    return { from: from.count, to: to.count, growth, why: busy >= busyShare * cores ? 'machine' : 'other' };
  }
  return null;
}

export function kneeText(
  part: string,
  knee: Knee | null,
  most: ScalePoint | undefined,
  cores: number,
): string {
  if (knee === null) return `${part}: no knee up to ${most?.count ?? 0}`;
  const growth = `from ${knee.from} to ${knee.to} ${part} throughput grew ${knee.growth.toFixed(2)} times`;
  return knee.why === 'machine'
    ? `${growth}: all ${cores} processors were busy (the machine's knee)`
    : `${growth} while processors were idle: something else is the limit`;
}
