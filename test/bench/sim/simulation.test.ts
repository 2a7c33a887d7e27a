import { describe, expect, it } from 'vitest';
import { arms, defaultArm } from '../../../bench/sim/arms/registry.ts';
import type { ArmKind } from '../../../bench/sim/arms/arm.ts';
import { cacheAware } from '../../../bench/sim/arms/cache-aware.ts';
import { roundRobin, sticky } from '../../../bench/sim/arms/routers.ts';
import { thunderAgentTokenBudget } from '../../../bench/sim/arms/thunderagent-token-budget.ts';
import { measure } from '../../../bench/sim/measure.ts';
import { Simulation } from '../../../bench/sim/simulation.ts';
import { planRun } from '../../../bench/sim/workload.ts';
import { agents } from '../../../bench/sim/scenarios.ts';
import { findBrokenLaws } from '../../../testkit/sim-engine/core/invariants.ts';
import { roomy, small } from './small-scenario.ts';

describe.each(arms.map((arm) => [arm.name, arm] as const))('a simulation with %s', (_name, arm) => {
  it('gives the same recording for the same seed, and another one for another seed', () => {
    const first = new Simulation(small, arm, 7).run();
    expect(new Simulation(small, arm, 7).run()).toEqual(first);
    expect(new Simulation(small, arm, 8).run()).not.toEqual(first);
  });

  it('loses and doubles nothing, and keeps the laws of the engines', () => {
    const simulation = new Simulation(small, arm, 3);
    let events = 0;
    const broken: string[] = [];
    simulation.runUntil(small.warmUpMs + small.windowMs, () => {
      events += 1;
      if (events % 50 === 0) for (const engine of simulation.engines) broken.push(...findBrokenLaws(engine));
    });
    expect(broken).toEqual([]);
    const { turns, runs } = simulation.run();
    const finished = turns.filter((turn) => turn.finishedAtMs !== null);
    expect(turns.length).toBe(finished.length + simulation.liveTurns);
    // Ten agents: each has one run that has not ended, and each run that has ended had four turns.
    const ended = runs.filter((run) => run.endedAtMs !== null);
    expect(runs.length - ended.length).toBe(10);
    expect(ended.length).toBeGreaterThan(10);
    expect(ended.filter((run) => run.failed)).toEqual([]);
    expect(finished.length).toBeGreaterThanOrEqual(ended.length * 4);
    expect(finished.length).toBeLessThan((ended.length + 10) * 4);
    const submitted = simulation.engines.reduce((sum, engine) => sum + engine.counters.accepted, 0);
    expect(submitted).toBe(turns.filter((turn) => turn.admittedAtMs !== null).length);
  });

  it('orders the times of every turn', () => {
    for (const turn of new Simulation(small, arm, 5).run().turns) {
      const times = [turn.arrivedAtMs, turn.admittedAtMs, turn.firstByteAtMs, turn.finishedAtMs];
      const known = times.filter((time) => time !== null);
      expect(known).toEqual(known.toSorted((a, b) => a - b));
      expect(times.slice(0, known.length)).toEqual(known);
      expect(turn.cachedTokens).toBeLessThan(turn.promptTokens);
    }
  });
});

describe('the loop', () => {
  it('rejects an arm that admits a turn twice', () => {
    const twice: ArmKind = {
      ...sticky,
      create(options) {
        const arm = sticky.create(options);
        return { ...arm, arrived: (turn, atMs) => [arm.arrived(turn, atMs), arm.arrived(turn, atMs)].flat() };
      },
    };
    expect(() => new Simulation(small, twice, 1).run()).toThrow(/was not held/);
  });

  it('ends a run whose turn an engine refuses, reports it to the arm, and tries another a second later', () => {
    const huge = { ...small, replicas: [{ totalBlocks: 100 }], loads: [agents('batch', 1)] };
    const reported: string[] = [];
    const listening: ArmKind = {
      ...sticky,
      create(options) {
        const arm = sticky.create(options);
        return {
          ...arm,
          finished(turn, end, atMs) {
            reported.push(end.outcome);
            return arm.finished(turn, end, atMs);
          },
        };
      },
    };
    const { runs } = new Simulation({ ...huge, warmUpMs: 0, windowMs: 10_000 }, listening, 1).run();
    expect(runs.length).toBeGreaterThan(4);
    expect(runs.length).toBeLessThan(12);
    expect(runs.every((run) => run.failed)).toBe(true);
    expect(reported).toEqual(runs.map(() => 'refused'));
    expect(measure({ turns: [], runs, startMs: 0, endMs: 10_000, preemptions: 0 }).failedRuns).toBe(
      runs.length,
    );
  });
});

describe('the work', () => {
  const shape = agents('batch', 1).shape;

  it('is the same for a run whatever the arm, and its conversation grows by what was said', () => {
    const plan = planRun(1, 0, 2, 3, shape);
    expect(planRun(1, 0, 2, 3, shape)).toEqual(plan);
    expect(planRun(1, 0, 2, 4, shape).blockHashes[0]).not.toBe(plan.blockHashes[0]);
    expect(plan.turns).toHaveLength(4);
    expect(plan.turns.map(({ tool }) => tool === null)).toEqual([false, false, false, true]);
    const grown = plan.turns.map(({ promptTokens, outputTokens }) => promptTokens + outputTokens);
    expect(plan.turns.slice(1).every((turn, index) => turn.promptTokens > (grown[index] ?? 0))).toBe(true);
    expect(plan.blockHashes).toHaveLength(Math.floor((grown.at(-1) ?? 0) / 16));
  });

  it('shares blocks between runs exactly as far as they share a system prompt', () => {
    const sharing = { ...shape, shared: { prompts: 1, tokens: 160 } };
    const a = planRun(1, 0, 0, 0, sharing);
    const b = planRun(1, 3, 5, 9, sharing);
    expect(a.blockHashes.slice(0, 10)).toEqual(b.blockHashes.slice(0, 10));
    const rest = new Set(a.blockHashes.slice(10));
    expect(b.blockHashes.filter((hash) => rest.has(hash))).toEqual([]);
  });
});

describe('the policies', () => {
  const run = (arm: ArmKind, scenario = small): ReturnType<typeof measure> =>
    measure(new Simulation({ ...scenario, windowMs: 300_000 }, arm, 2).run());

  it('tie within 2 % when memory is enough and runs stay where they are', () => {
    const base = run(sticky, roomy).turnsPerMinute ?? 0;
    for (const arm of [cacheAware, thunderAgentTokenBudget, defaultArm]) {
      expect(Math.abs((run(arm, roomy).turnsPerMinute ?? 0) / base - 1)).toBeLessThan(0.02);
    }
  });

  it('find next to nothing cached with half the memory, and most with enough', () => {
    expect(run(sticky).cachedShare).toBeLessThan(0.2);
    expect(run(sticky, roomy).cachedShare).toBeGreaterThan(0.7);
    expect(run(roundRobin, roomy).cachedShare).toBeLessThan(run(sticky, roomy).cachedShare ?? 0);
  });
});
