/**
 * The callers, how long they are watched, and the limits. The questions are those of bench/sim/fairness.ts, asked
 * in real time over the proxy. There are more engines before the light caller, so that a window of minutes has
 * enough runs of it to tell a 95th percentile, and half of the agents that share tokens, before one engine: as many
 * contexts fit into an engine as there. Pure.
 */
import { agents, memoryFor } from '../sim/scenarios.ts';
import type { ClosedLoad, Load } from '../sim/workload.ts';
import type { LanePlan, Times } from './lane.ts';

export interface FairnessPlan {
  readonly repeats: number;
  /** Repeats that are run at the same time, each over engines of its own. */
  readonly lanes: number;
  readonly beside: Times;
  readonly shares: Times;
}

/** @param quick shortens windows and runs repeats side by side; callers and bars stay. */
export function planOf(quick: boolean): FairnessPlan {
  return quick
    ? {
        repeats: 3,
        lanes: 3,
        beside: { warmUpMs: 10_000, windowMs: 50_000 },
        shares: { warmUpMs: 15_000, windowMs: 35_000 },
      }
    : {
        repeats: 3,
        lanes: 1,
        beside: { warmUpMs: 30_000, windowMs: 240_000 },
        shares: { warmUpMs: 40_000, windowMs: 150_000 },
      };
}

export const limits = { waitRatio: 1.5, jain: 0.95, cachedPointsBehind: 2 } as const;

const light = agents('interactive', 1, { caller: 'light' }).shape;
const heavy = agents('interactive', 1, { caller: 'heavy' }).shape;
/** As in the simulation for each two engines; here there are four. */
const lightRunsPerMinute = 24;

const besideReplicas = memoryFor(0.5, [agents('interactive', 104)], 4);
const lightLoad: Load = { kind: 'poisson', runsPerMinute: lightRunsPerMinute, shape: light };
const heavyLoad: Load = { kind: 'poisson', runsPerMinute: 10 * lightRunsPerMinute, shape: heavy };

export type WaitLane = 'alone' | 'beside';

/** The light caller by itself, and the same one beside another with ten times its load. */
export function waitLanes(): readonly (LanePlan & { readonly name: WaitLane })[] {
  const common = { replicas: besideReplicas, gateway: { policy: {}, callers: {} } } as const;
  return [
    { name: 'alone', loads: [lightLoad], ...common },
    { name: 'beside', loads: [lightLoad, heavyLoad], ...common },
  ];
}

export const weights: Readonly<Record<string, number>> = { few: 1, many: 1, long: 1, double: 2 };

/** One with three times the agents, one with three times the prompts, one with twice the weight. */
const backlogged: readonly ClosedLoad[] = [
  agents('batch', 12, { caller: 'few' }),
  agents('batch', 36, { caller: 'many' }),
  agents('batch', 12, { caller: 'long', promptTokens: { lowest: 4_800, highest: 6_000 } }),
  agents('batch', 24, { caller: 'double' }),
];

export const shareArms = ['sglang-router', 'inflight', 'tokens'] as const;
export type ShareArm = (typeof shareArms)[number];

/** Four callers that always have turns waiting, memory for a tenth of their contexts. */
export function shareLanes(): readonly (LanePlan & { readonly name: ShareArm })[] {
  const callers = Object.fromEntries(Object.entries(weights).map(([id, weight]) => [id, { weight }]));
  return shareArms.map((name) => ({
    name,
    loads: backlogged,
    replicas: memoryFor(0.1, backlogged, 1),
    gateway: name === 'sglang-router' ? 'sglang-router' : { policy: { fairness: name }, callers },
  }));
}
