/** How wide, how often; the limits. Pure. */
import type { Scenario } from '../sim/scenario.ts';
import { agents, memoryFor } from '../sim/scenarios.ts';
import type { ClosedLoad } from '../sim/workload.ts';

export interface FanoutPlan {
  readonly scenario: Scenario;
  readonly load: ClosedLoad;
  readonly width: number;
  /** Runs one after the other; fewer than the width are scaled up to it. */
  readonly sequentialRuns: number;
  readonly repeats: number;
}

/** The flood's agents, but with a tool that takes 2 s. */
const load = agents('interactive', 16, {
  tools: [{ name: 'wait', share: 1, durationMs: { lowest: 2_000, highest: 2_000 } }],
});

/** @param quick measures fewer runs one after the other; repeats, width and bars stay. */
export function planOf(quick: boolean): FanoutPlan {
  return {
    scenario: {
      name: 'fanout',
      about: '16 sub-agents with three calls of a tool that takes 2 s, memory for all contexts',
      loads: [load],
      replicas: memoryFor(3, [load]),
      warmUpMs: 0,
      windowMs: 0,
    },
    load,
    width: 16,
    sequentialRuns: quick ? 1 : 16,
    repeats: 3,
  };
}

export const limits = { overSequential: 5.5, overBare: 1.05 } as const;
