/** How much work when nothing stands in its way; the limits. Pure. */
import type { Scenario } from '../sim/scenario.ts';
import { agents, memoryFor } from '../sim/scenarios.ts';
import type { ClosedLoad } from '../sim/workload.ts';

export interface IdlePlan {
  readonly scenario: Omit<Scenario, 'loads'> & { readonly loads: readonly ClosedLoad[] };
  /** Each agent does the same runs in every arm, and then stops. */
  readonly runsPerAgent: number;
  readonly repeats: number;
}

const loads = [agents('batch', 2), agents('interactive', 2)];

/** @param quick fewer runs. One engine, since a direct call chooses none. */
export function planOf(quick: boolean): IdlePlan {
  return {
    scenario: {
      name: 'idle',
      about: '2 batch and 2 interactive agents before one engine with memory for all that they ever say',
      loads,
      replicas: memoryFor(20, loads, 1),
      warmUpMs: 0,
      windowMs: 0,
    },
    runsPerAgent: quick ? 3 : 20,
    repeats: 3,
  };
}

/** How far from 1 a ratio over direct may be. */
export const tolerance = 0.03;
