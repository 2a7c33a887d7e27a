/** How long the flood is watched, and on what. Bars are the same for every plan. */
import { agents } from '../sim/scenarios.ts';
import { flood } from '../sim/scenarios.ts';
import type { Scenario } from '../sim/scenario.ts';
import type { ClosedLoad } from '../sim/workload.ts';
import type { DialogueKind } from '../agents/dialogue.ts';

/**
 * `llamacpp`: real engines with no memory but that of their slots. `llamacpp-kept`: as they come, with 8 GiB of
 * main memory for contexts that lost their slot, so that memory does not limit anything.
 */
export const engineChoices = ['simulated', 'llamacpp', 'llamacpp-kept'] as const;
export type EngineChoice = (typeof engineChoices)[number];

export interface FloodPlan {
  readonly engine: EngineChoice;
  readonly dialogue: DialogueKind;
  /** Loads, replicas and times; on llama.cpp the replicas are what its launcher makes of them. */
  readonly scenario: Scenario;
  readonly repeats: number;
  /** Share within which two arms are equal in this result: what its few runs leave to chance. */
  readonly tie: number;
  /** Windows that are run side by side, each with engines of its own. */
  readonly lanes: number;
}

/** Not those that anything was tuned on. */
export function seedsOf(repeats: number): number[] {
  return Array.from({ length: repeats }, (_, index) => 2_001 + index);
}

/** Real engines read some 90 and write some 60 tokens a second: prompts of 400 tokens, short replies. */
const small = {
  promptTokens: { lowest: 360, highest: 440 },
  outputTokens: { lowest: 12, highest: 24 },
  resultTokens: { lowest: 16, highest: 32 },
};

const llamaLoads: readonly ClosedLoad[] = [agents('batch', 16, small), agents('interactive', 2, small)];

export function planOf(engine: EngineChoice, quick: boolean, lanes: number | null): FloodPlan {
  if (engine !== 'simulated') {
    const scenario: Scenario = {
      name: `flood-${engine}`,
      about: '16 batch and 2 interactive agents on two llama.cpp replicas of 4 slots and one thread each',
      replicas: [{}, {}],
      loads: llamaLoads,
      // A run takes one to four minutes here: shorter windows would see none whole.
      warmUpMs: 60_000,
      windowMs: quick ? 240_000 : 360_000,
    };
    // Each engine takes a core: two pairs of them would measure each other.
    return { engine, dialogue: 'plain', scenario, repeats: quick ? 1 : 3, tie: 0.2, lanes: 1 };
  }
  const scenario = {
    ...flood,
    warmUpMs: quick ? 30_000 : 45_000,
    // A batch run lasts some 30 s through a router, and they end in waves: whole waves are counted.
    windowMs: quick ? 60_000 : 150_000,
  };
  // A window takes about a fifth of a processor.
  return { engine, dialogue: 'scripted', scenario, repeats: 3, tie: 0.05, lanes: lanes ?? (quick ? 6 : 3) };
}
