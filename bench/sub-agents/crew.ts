/**
 * Closed loops of sub-agents' work: each agent begins its next run when its last one has ended, whoever carries
 * runs out. Seeds, starts and plans are those of bench/agents and of `npm run sim`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createGenerator, hashText } from '../../testkit/sim-engine/core/random.ts';
import type { RunRecord } from '../sim/recorder.ts';
import { draw, planRun, type ClosedLoad, type RunPlan } from '../sim/workload.ts';
import type { CarryOut, WorkOutcome } from './outcome.ts';

export interface CrewOptions {
  readonly loads: readonly ClosedLoad[];
  readonly seed: number;
  readonly carryOut: CarryOut<RunPlan>;
}

export interface CrewFound {
  /** Also those that were under way at the end; times in ms after the start. */
  readonly runs: readonly RunRecord[];
  /** Of runs that have ended, by the id of their plan. */
  readonly outcomes: ReadonlyMap<string, WorkOutcome>;
  readonly faults: readonly string[];
}

export interface RunningCrew {
  /** Resolves when so many ms have passed since the start. @throws what an agent broke on. */
  until(atMs: number): Promise<void>;
  /** Begins no run any more; those under way are let go. */
  stop(): CrewFound;
}

const staggerMs = 5_000;
const retryMs = 1_000;
const keptFaults = 5;

export function startCrew({ loads, seed, carryOut }: CrewOptions): RunningCrew {
  const startedAtMs = performance.now();
  const now = (): number => performance.now() - startedAtMs;
  const runs: RunRecord[] = [];
  const outcomes = new Map<string, WorkOutcome>();
  const faults = new Set<string>();
  const stopping = new AbortController();

  const one = async (plan: RunPlan): Promise<boolean> => {
    const record: RunRecord = {
      class: plan.class,
      caller: plan.caller,
      startedAtMs: now(),
      endedAtMs: null,
      failed: false,
    };
    runs.push(record);
    const outcome = await carryOut(plan);
    if (stopping.signal.aborted) return false;
    record.endedAtMs = now();
    record.failed = outcome.fault !== null;
    outcomes.set(plan.id, outcome);
    if (outcome.fault !== null && faults.size < keptFaults) faults.add(outcome.fault);
    return record.failed;
  };
  const loop = async (load: ClosedLoad, index: number, agent: number, startMs: number): Promise<void> => {
    await sleep(startMs);
    for (let number = 0; !stopping.signal.aborted; number += 1) {
      if (await one(planRun(seed, index, agent, number, load.shape))) await sleep(retryMs);
    }
  };
  const done = Promise.all(
    loads.flatMap((load, index) => {
      const generator = createGenerator(hashText(`load ${index}`, seed));
      const startsMs = Array.from({ length: load.agents }, () =>
        draw(generator, { lowest: 0, highest: staggerMs }),
      );
      return startsMs.map(async (startMs, agent) => await loop(load, index, agent, startMs));
    }),
  ).catch((error: unknown) => {
    // What was cut off by the stop has broken for no other reason.
    if (!stopping.signal.aborted) throw error;
  });
  done.catch(() => undefined);
  return {
    until: async (atMs) => {
      const time = sleep(Math.max(0, atMs - now()));
      await Promise.race([time, done.then(async () => await time)]);
    },
    stop() {
      stopping.abort();
      return { runs, outcomes, faults: [...faults] };
    },
  };
}

/** Same runs in two crews: whether they did the same. */
export interface SameWork {
  readonly compared: number;
  /** Another answer, or another number of tool calls. */
  readonly different: number;
  /** Prompt tokens of the second over the first; null: none were compared. */
  readonly promptRatio: number | null;
}

export function compareWork(
  one: ReadonlyMap<string, WorkOutcome>,
  other: ReadonlyMap<string, WorkOutcome>,
): SameWork {
  let [compared, different, here, there] = [0, 0, 0, 0];
  for (const [id, outcome] of one) {
    const second = other.get(id);
    if (second === undefined || outcome.fault !== null || second.fault !== null) continue;
    compared += 1;
    here += outcome.promptTokens;
    there += second.promptTokens;
    if (outcome.answer !== second.answer || outcome.toolCalls !== second.toolCalls) different += 1;
  }
  return { compared, different, promptRatio: here === 0 ? null : there / here };
}
