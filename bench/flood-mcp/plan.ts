/** How long the flood through MCP is watched. Bars are the same for every plan. Pure. */
import type { Scenario } from '../sim/scenario.ts';
import { agents, memoryFor } from '../sim/scenarios.ts';
import type { ClosedLoad } from '../sim/workload.ts';

export interface FloodMcpPlan {
  readonly scenario: Omit<Scenario, 'loads'> & { readonly loads: readonly ClosedLoad[] };
  readonly repeats: number;
}

const loads = [agents('batch', 48), agents('interactive', 4)];

/** @param quick shortens windows. */
export function planOf(quick: boolean): FloodMcpPlan {
  return {
    repeats: 3,
    scenario: {
      name: 'flood-mcp',
      about: '48 batch and 4 interactive sub-agents, memory for half of their contexts',
      loads,
      replicas: memoryFor(0.5, loads),
      warmUpMs: quick ? 20_000 : 45_000,
      windowMs: quick ? 35_000 : 180_000,
    },
  };
}

/** Over bare loops on SGLang's router, runs a minute. */
export const limits = { interactive: 3, batch: 1.2 } as const;
