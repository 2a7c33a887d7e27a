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
const longestGapMs = 3_200;
/** Of the deaths of each part; the others overlap. */
const aloneShare = 0.25;

export function planKills(count: number, seed: number): readonly PlannedKill[] {
  const generator = createGenerator(seed);
  const plan: PlannedKill[] = [];
  while (plan.length < count) {
    const round: PartName[] = [...partNames];
    while (round.length > 0 && plan.length < count) {
      const [part] = round.splice(nextInteger(generator, 0, round.length - 1), 1);
      if (part === undefined) break;
      const gapMs = nextInteger(generator, shortestGapMs, longestGapMs);
      plan.push({ part, gapMs, alone: nextRandom(generator) < aloneShare });
    }
  }
  return plan;
}
