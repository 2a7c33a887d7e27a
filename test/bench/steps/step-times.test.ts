import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  historyGrowth,
  stepTimes,
  throughputOf,
  untilRunning,
  type EngineTurn,
  type ToolSpan,
} from '../../../bench/steps/step-times.ts';

const turn = (number: number, startMs: number, endMs: number, run = 'a'): EngineTurn => ({
  run,
  turn: number,
  startMs,
  endMs,
});
const call = (startMs: number, endMs: number, run = 'a'): ToolSpan => ({ run, startMs, endMs });

describe('the time that is added to a step', () => {
  it('is what neither the engine nor the tool spent between two turns', () => {
    const turns = [turn(1, 0, 100), turn(2, 200, 260), turn(3, 300, 310)];
    const calls = [call(115, 180), call(270, 290)];
    expect(stepTimes(turns, calls)).toEqual([
      { toToolMs: 15, toTurnMs: 20, addedMs: 35 },
      { toToolMs: 10, toTurnMs: 10, addedMs: 20 },
    ]);
  });

  it('adds up to the whole run, whatever the engine and the tools took', () => {
    const part = fc.integer({ min: 0, max: 5_000 });
    const step = fc.record({
      modelMs: part,
      toToolMs: part,
      toolMs: fc.integer({ min: 1, max: 500 }),
      toTurnMs: part,
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
        let atMs = 0;
        const turns: EngineTurn[] = [];
        const calls: ToolSpan[] = [];
        for (const [index, { modelMs, toToolMs, toolMs, toTurnMs }] of steps.entries()) {
          turns.push(turn(index + 1, atMs, atMs + modelMs));
          const askedMs = atMs + modelMs + toToolMs;
          calls.push(call(askedMs, askedMs + toolMs));
          atMs = askedMs + toolMs + toTurnMs;
        }
        turns.push(turn(steps.length + 1, atMs, atMs + 1));
        // The order of the records says nothing.
        expect(stepTimes(turns.toReversed(), calls.toReversed())).toEqual(
          steps.map(({ toToolMs, toTurnMs }) => ({ toToolMs, toTurnMs, addedMs: toToolMs + toTurnMs })),
        );
      }),
    );
  });

  it('is told apart when nothing at all lies between two calls but a turn of no time', () => {
    const turns = [turn(1, 0, 0), turn(2, 1, 1), turn(3, 2, 3)];
    const added = { toToolMs: 0, toTurnMs: 0, addedMs: 0 };
    expect(stepTimes(turns, [call(0, 1), call(1, 2)])).toEqual([added, added]);
  });

  it('is not told of a record with a gap: a repeated turn, a lost one, a step without its call', () => {
    const calls = [call(110, 150)];
    expect(() => stepTimes([turn(1, 0, 100), turn(1, 200, 210)], calls)).toThrow('is not followed');
    expect(() => stepTimes([turn(1, 0, 100), turn(3, 200, 210)], calls)).toThrow('is not followed');
    expect(() => stepTimes([turn(1, 0, 100), turn(2, 200, 210)], [])).toThrow('0 tool calls');
    expect(() => stepTimes([turn(1, 0, 100), turn(2, 200, 210)], [...calls, call(160, 170)])).toThrow(
      '2 tool calls',
    );
  });
});

describe('steps a second', () => {
  it('count only while all runs are under way', () => {
    const turns = [
      turn(1, 0, 10, 'early'),
      turn(2, 400, 410, 'early'),
      turn(3, 1_500, 1_510, 'early'),
      turn(4, 2_500, 2_510, 'early'),
      turn(1, 500, 510, 'late'),
      turn(2, 1_000, 1_010, 'late'),
      turn(3, 2_000, 2_010, 'late'),
      turn(4, 9_000, 9_010, 'late'),
    ];
    // From 500 to 2,500 ms: two turns of each run.
    expect(throughputOf(turns)).toEqual({ stepsPerSecond: 2, steps: 4, fromMs: 500, toMs: 2_500 });
  });

  it('are not told when the runs never ran at once', () => {
    const turns = [turn(1, 0, 1, 'a'), turn(2, 10, 11, 'a'), turn(1, 20, 21, 'b'), turn(2, 30, 31, 'b')];
    expect(throughputOf(turns)).toBeNull();
    expect(throughputOf([])).toBeNull();
  });
});

describe('a burst', () => {
  it('has begun with the first turn of its last run, whatever the others have done since', () => {
    const turns = [turn(1, 130, 140, 'a'), turn(2, 150, 160, 'a'), turn(1, 400, 410, 'b')];
    expect(untilRunning(turns, 2, 100)).toBe(300);
    expect(untilRunning(turns, 3, 100)).toBeNull();
  });
});

describe('the growth of history', () => {
  it('is 1 when each step adds the same, and 3 when inputs carry the whole transcript', () => {
    const linear = (steps: number): number => 9_000 + 4_000 * steps;
    const square = (steps: number): number => 9_000 + 100 * steps ** 2;
    const of = (size: (steps: number) => number) => ({ none: size(0), half: size(30), all: size(60) });
    expect(historyGrowth(of(linear))).toBe(1);
    expect(historyGrowth(of(square))).toBe(3);
  });
});
