/**
 * Where more of a part stops to help, and what stands in the way: the machine, when all its processors are busy,
 * since more processes can then only share them; or one process that has a processor to itself and cannot use
 * another; or something that uses no processor. Pure.
 */

export interface ScalePoint {
  /** How many of the part. */
  readonly count: number;
  readonly perSecond: number;
  /** Processors that were busy, whoever used them; null: it cannot be told. */
  readonly busyCores: number | null;
  /** Processors used by kind of process. */
  readonly cores: readonly CoreUse[];
}

export interface CoreUse {
  readonly kind: string;
  /** Processes of it, that share the use; 0: not one process alone, so that nothing follows from it. */
  readonly processes: number;
  readonly cores: number | null;
}

/** Less than this share of the growth in parts is no growth with them. */
const linearShare = 0.8;
/** Above this share of its processors the machine is the limit, above this share of one a process. */
const busyShare = 0.9;

export interface Knee {
  readonly from: number;
  readonly to: number;
  readonly growth: number;
  readonly why: 'machine' | 'process' | 'other';
  /** The kind of process that is the limit; null: none. */
  readonly process: string | null;
  /** At the point where growth ended. */
  readonly at: ScalePoint;
}

/** @param points in order of their counts. @returns the first step that did not pay; null: each did. */
export function kneeOf(points: readonly ScalePoint[], cores: number): Knee | null {
  for (const [index, to] of points.entries()) {
    const from = points[index - 1];
    if (from === undefined) continue;
    const growth = to.perSecond / from.perSecond;
    if (growth >= linearShare * (to.count / from.count)) continue;
    const busy = Math.max(from.busyCores ?? 0, to.busyCores ?? 0);
    const full = to.cores.find((use) => use.processes > 0 && (use.cores ?? 0) >= busyShare * use.processes);
    const why = busy >= busyShare * cores ? 'machine' : full === undefined ? 'other' : 'process';
    const process = why === 'process' ? (full?.kind ?? null) : null;
    return { from: from.count, to: to.count, growth, why, process, at: to };
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
  const used = sharesText(knee.at);
  switch (knee.why) {
    case 'machine':
      return `${growth}: all ${cores} processors were busy (the machine's knee)${used}`;
    case 'process':
      return `${growth} while the machine had processors to spare: ${knee.process} had none left of its own${used}`;
    case 'other':
      return `${growth} while processors were idle: something else is the limit${used}`;
  }
}

/** Who used the processors, most first; '' when nobody can tell. */
function sharesText({ busyCores, cores }: ScalePoint): string {
  if (busyCores === null || busyCores <= 0) return '';
  const known = cores.flatMap(({ kind, cores: own }) => (own === null ? [] : [{ kind, own }]));
  const others = busyCores - known.reduce((sum, { own }) => sum + own, 0);
  const all = [...known, { kind: 'everything else on the machine', own: Math.max(0, others) }];
  const shares = all
    .toSorted((a, b) => b.own - a.own)
    .map(({ kind, own }) => `${kind} ${((100 * own) / busyCores).toFixed(0)} %`);
  return `; of ${busyCores.toFixed(2)} busy ones ${shares.join(', ')}`;
}
