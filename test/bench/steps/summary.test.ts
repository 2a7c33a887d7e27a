import { describe, expect, it } from 'vitest';
import { isMet } from '../../../bench/bars.ts';
import { limits, planOf } from '../../../bench/steps/plan.ts';
import { stepsBars, stepsTable, type Repeat } from '../../../bench/steps/summary.ts';

function repeat(
  addedMs: number,
  stepsPerSecond: number | null,
  bursts: readonly (number | null)[],
  growth = 1,
): Repeat {
  return {
    alone: [0, 1, 2].map((more) => ({
      addedMs: addedMs + more,
      toToolMs: 10,
      toTurnMs: addedMs + more - 10,
    })),
    together:
      stepsPerSecond === null
        ? null
        : {
            stepsPerSecond,
            fromMs: 0,
            toMs: 10_000,
            steps: 10,
            cpuMsPerStep: { temporal: 20 },
            foreignCores: 0.1,
          },
    bursts,
    history: { none: 1, half: 2, all: 3, growth, bytesPerStep: 4_000 },
  };
}

const met = (repeats: readonly Repeat[]): readonly boolean[] => stepsBars(repeats).map(isMet);

describe('the bars of a step', () => {
  it('compare the median of the repeats with what the design asks', () => {
    const good = [repeat(40, 50, [300]), repeat(41, 51, [320]), repeat(48, 46, [499])];
    expect(met(good)).toEqual([true, true, true, true]);
    const slowOnce = [repeat(40, 50, [300]), repeat(90, 20, [900]), repeat(41, 51, [310])];
    expect(met(slowOnce)).toEqual([true, true, true, true]);
    const slow = [repeat(50, 44, [501], 1.2), repeat(51, 44, [502], 1.2), repeat(10, 90, [100], 1)];
    expect(met(slow)).toEqual([false, false, false, false]);
  });

  it('are missed when a repeat has nothing to tell', () => {
    expect(met([repeat(40, 50, [300]), repeat(40, null, [null, 300]), repeat(40, 50, [300])])).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect(met([])).toEqual([false, false, false, false]);
  });

  it('are the same in a quick run, which has as many repeats and runs side by side', () => {
    expect(limits).toEqual({ addedMsPerStep: 50, stepsPerSecond: 45, burstMs: 500, historyGrowth: 1.1 });
    const [quick, full] = [planOf(true), planOf(false)];
    expect(quick.repeats).toBe(full.repeats);
    expect(full.repeats).toBeGreaterThanOrEqual(3);
    expect([quick.together.runs, quick.burst.runs]).toEqual([100, 16]);
    expect([full.together.runs, full.burst.runs]).toEqual([100, 16]);
  });
});

describe('the table of a step', () => {
  it('shows medians with their spread, and what each process worked for a step', () => {
    const table = stepsTable([repeat(40, 50, [300]), repeat(60, 30, [400]), repeat(44, 48, [350])]);
    expect(table).toContain('45.0 (41.0..61.0)');
    expect(table).toContain('48.0 (30.0..50.0)');
    expect(table).toContain('processor ms a step: temporal');
    expect(table).toContain('350 (300..400)');
  });
});
