/** Which part dies when: drawn from a seed, every part its share. Pure. */
import { createGenerator, nextInteger, nextRandom } from '../../testkit/sim-engine/core/random.ts';

export const partNames = ['worker', 'mcp-server', 'proxy', 'scheduler', 'temporal'] as const;
export type PartName = (typeof partNames)[number];

export interface PlannedKill {
  readonly part: PartName;
  /** Milliseconds after the kill before it. */
  readonly gapMs: number;
  /**
   * The next kill waits until every run that was open has gone on, so that the time this takes is that of one
   * death and not of several. The others come as they are drawn, also while a part is still down.
   */
  readonly alone: boolean;
}

const shortestGapMs = 200;
const longestGapMs = 1_800;
/** Of the deaths of each part; the others overlap. */
const aloneShare = 0.15;
/** A worker takes longest to come back, and all runs stand still meanwhile: it dies less often than the others. */
const shares: Readonly<Record<PartName, number>> = {
  worker: 2,
  'mcp-server': 3,
  proxy: 3,
  scheduler: 3,
  temporal: 3,
};

/** @param only the one part that dies, each time alone. */
export function planKills(count: number, seed: number, only: PartName | null = null): readonly PlannedKill[] {
  const generator = createGenerator(seed);
  const plan: PlannedKill[] = [];
  while (plan.length < count) {
    const round = partNames
      .filter((name) => only === null || name === only)
      .flatMap((name) => Array.from({ length: shares[name] }, () => name));
    while (round.length > 0 && plan.length < count) {
      const [part] = round.splice(nextInteger(generator, 0, round.length - 1), 1);
      if (part === undefined) break;
      const gapMs = nextInteger(generator, shortestGapMs, longestGapMs);
      plan.push({
        part,
        gapMs,
        alone: nextRandom(generator) < aloneShare || only !== null || isFirstOf(part, plan),
      });
    }
  }
  return plan;
}

/** So that a short plan, too, has one death of each part that stands alone. */
function isFirstOf(part: PartName, plan: readonly PlannedKill[]): boolean {
  return plan.every((kill) => kill.part !== part);
}

/** How often each part dies at least in a plan of so many kills. */
export function leastKills(count: number): number {
  const total = partNames.reduce((sum, name) => sum + shares[name], 0);
  return Math.floor(count / total) * Math.min(...Object.values(shares));
}
