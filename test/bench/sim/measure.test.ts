import { describe, expect, it } from 'vitest';
import { allBars, lossLines } from '../../../bench/sim/all-bars.ts';
import { parseArguments } from '../../../bench/sim/arguments.ts';
import { Agenda } from '../../../bench/sim/agenda.ts';
import { bestArm, compare, ratio, type Comparison } from '../../../bench/sim/compare.ts';
import { measure, metricNames, serviceByCaller, type Metrics } from '../../../bench/sim/measure.ts';
import { memoryBound } from '../../../bench/sim/memory-bound.ts';
import type { Recording, TurnRecord } from '../../../bench/sim/recorder.ts';
import { jainIndex, median, quantile, spreadOf } from '../../../bench/sim/statistics.ts';
import { roundRobin, sticky } from '../../../bench/sim/arms/routers.ts';
import { agents, meanContextTokens, scenarios } from '../../../bench/sim/scenarios.ts';
import { arrivalTimes } from '../../../bench/sim/workload.ts';
import { createGenerator } from '../../../testkit/sim-engine/core/random.ts';
import { isMet } from '../../../bench/bars.ts';
import { small } from './small-scenario.ts';

function record(fields: Partial<TurnRecord>): TurnRecord {
  return {
    class: 'batch',
    caller: 'bob',
    number: 0,
    arrivedAtMs: 0,
    admittedAtMs: null,
    firstByteAtMs: null,
    finishedAtMs: null,
    promptTokens: 1_000,
    outputTokens: 100,
    cachedTokens: 0,
    replica: null,
    ...fields,
  };
}

const recording: Recording = {
  startMs: 60_000,
  endMs: 120_000,
  preemptions: 2,
  turns: [
    record({ arrivedAtMs: 1_000, admittedAtMs: 2_000, firstByteAtMs: 3_000, finishedAtMs: 59_000 }),
    record({
      arrivedAtMs: 61_000,
      admittedAtMs: 63_000,
      firstByteAtMs: 64_000,
      finishedAtMs: 65_000,
      cachedTokens: 500,
    }),
    record({
      class: 'interactive',
      caller: 'alice',
      arrivedAtMs: 61_000,
      admittedAtMs: 61_000,
      finishedAtMs: 62_000,
    }),
    record({ arrivedAtMs: 70_000 }),
  ],
  runs: [
    { class: 'batch', caller: 'bob', startedAtMs: 1_000, endedAtMs: 59_000, failed: false },
    { class: 'batch', caller: 'bob', startedAtMs: 1_000, endedAtMs: 65_000, failed: false },
    { class: 'batch', caller: 'bob', startedAtMs: 1_000, endedAtMs: 66_000, failed: true },
    { class: 'interactive', caller: 'alice', startedAtMs: 50_000, endedAtMs: null, failed: false },
  ],
};

describe('measuring', () => {
  it('counts what ended within the window, and holds that have not ended as long as they were', () => {
    expect(measure(recording)).toMatchObject({
      batchRunsPerMinute: 1,
      interactiveRunsPerMinute: 0,
      turnsPerMinute: 2,
      tokensPerSecond: 2_200 / 60,
      batchP50Ms: 64_000,
      interactiveP95Ms: null,
      batchHoldP50Ms: 2_000,
      longestBatchHoldMs: 50_000,
      interactiveHoldP95Ms: 0,
      cachedShare: 0.25,
      turnMeanMs: 2_500,
      preemptions: 2,
      failedRuns: 1,
    });
  });

  it('charges callers 1 a prompt token, 0.1 a cached one and 2 an output token', () => {
    expect(serviceByCaller(recording)).toEqual(
      new Map([
        ['bob', 500 + 50 + 200],
        ['alice', 1_000 + 200],
      ]),
    );
  });
});

describe('statistics', () => {
  it('take the nearest rank, the middle, and Jain as published', () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2);
    expect(quantile([4, 1, 3, 2], 0.95)).toBe(4);
    expect(quantile([], 0.5)).toBeNull();
    expect(median([1, 2, 3, 10])).toBe(2.5);
    expect(jainIndex([1, 1, 1, 1])).toBe(1);
    expect(jainIndex([1, 0, 0, 0])).toBe(0.25);
    expect(jainIndex([0, 0])).toBeNull();
  });

  it('have no median where a seed has no value', () => {
    expect(spreadOf([1, null, 3])).toEqual({ median: null, lowest: null, highest: null });
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, lowest: 1, highest: 3 });
  });
});

const metricsOf = (fields: Partial<Metrics>): Metrics => ({
  ...(Object.fromEntries(metricNames.map((name) => [name, 1])) as Metrics),
  ...fields,
});

describe('comparing', () => {
  const comparison: Comparison = {
    scenario: small,
    seeds: [1, 2],
    results: [
      { arm: 'ours', bySeed: [metricsOf({ tokensPerSecond: 90 }), metricsOf({ tokensPerSecond: 200 })] },
      { arm: 'theirs', bySeed: [metricsOf({ tokensPerSecond: 100 }), metricsOf({ tokensPerSecond: 250 })] },
    ],
  };

  it('takes ratios seed by seed and the best by the median', () => {
    expect(ratio(comparison, 'ours', 'theirs', 'tokensPerSecond')).toBeCloseTo(0.85);
    expect(ratio(comparison, 'ours', 'nobody', 'tokensPerSecond')).toBeNull();
    expect(bestArm(comparison, 'tokensPerSecond', 'highest')).toEqual({ arm: 'theirs', value: 175 });
  });

  it('says where the arm is behind, by how much and behind whom, and only there', () => {
    expect(allBars(comparison, 'ours').map(isMet)).toEqual([false, true]);
    const lines = lossLines(comparison, 'ours');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^small: in tokensPerSecond ours is at 0\.85 of theirs: cached share 1\.00 against/,
    );
    expect(lossLines(comparison, 'theirs')).toEqual([]);
  });

  it('runs every arm on every seed', () => {
    const quick = { ...small, warmUpMs: 1_000, windowMs: 10_000 };
    const { results } = compare(quick, [roundRobin, sticky], [1, 2]);
    expect(results.map(({ arm, bySeed }) => [arm, bySeed.length])).toEqual([
      ['round-robin', 2],
      ['sticky', 2],
    ]);
    expect(results[0]?.bySeed[0]).not.toEqual(results[0]?.bySeed[1]);
  });
});

describe('the memory bound', () => {
  it('is contexts that fit over pause plus turn, and nothing reaches it by queueing', () => {
    const bound = memoryBound(small, 1);
    expect(bound?.contextsThatFit).toBeCloseTo(5, 1);
    expect(bound?.meanPauseMs).toBe(750);
    const { contextsThatFit = 0, meanPauseMs = 0, meanTurnMs = 0 } = bound ?? {};
    expect(bound?.turnsPerMinute).toBeCloseTo((contextsThatFit / (meanPauseMs + meanTurnMs)) * 60_000);
    // One run of four turns ends in four times pause and turn; within the longest pause it leaves its share.
    const { besideLeftovers } = bound ?? {};
    const leftovers = (besideLeftovers?.contextsThatFit ?? 0) * (1_100 / (4 * (meanPauseMs + meanTurnMs)));
    expect((besideLeftovers?.contextsThatFit ?? 0) + leftovers).toBeCloseTo(contextsThatFit);
    expect(meanTurnMs).toBeGreaterThan(300);
    expect(meanTurnMs).toBeLessThan(1_500);
  });

  it('is not given where runs arrive by themselves', () => {
    const trace = scenarios.find(({ name }) => name === 'light-load');
    expect(trace === undefined ? undefined : memoryBound(trace, 1)).toBeNull();
  });
});

describe('loads', () => {
  it('arrive as often as they say', () => {
    const { shape } = agents('batch', 1);
    const poisson = arrivalTimes({ kind: 'poisson', runsPerMinute: 30, shape }, 600_000, createGenerator(1));
    expect(poisson.length).toBeGreaterThan(240);
    expect(poisson.length).toBeLessThan(360);
    expect(poisson).toEqual(poisson.toSorted((a, b) => a - b));
    const bursts = arrivalTimes(
      { kind: 'bursts', runs: 10, everyMs: 60_000, spreadMs: 1_000, shape },
      180_000,
      createGenerator(1),
    );
    expect(bursts).toHaveLength(30);
    expect(bursts.every((atMs) => atMs % 60_000 < 1_000)).toBe(true);
  });

  it('in the flood come to contexts of about 2,000 tokens and twice the memory', () => {
    const flood = scenarios.find(({ name }) => name === 'flood');
    const shape = agents('batch', 1).shape;
    expect(meanContextTokens(shape)).toBeGreaterThan(1_900);
    expect(meanContextTokens(shape)).toBeLessThan(2_200);
    const memoryTokens = (flood?.replicas ?? []).reduce(
      (sum, { totalBlocks = 0 }) => sum + totalBlocks * 16,
      0,
    );
    expect(memoryTokens / (52 * meanContextTokens(shape))).toBeCloseTo(0.5, 2);
  });
});

describe('the agenda', () => {
  it('gives what comes first, and among equals what was added first', () => {
    const agenda = new Agenda();
    const done: string[] = [];
    for (const [atMs, word] of [
      [2, 'c'],
      [1, 'a'],
      [1, 'b'],
    ] as const) {
      agenda.add(atMs, () => done.push(word));
    }
    expect(agenda.nextAtMs).toBe(1);
    while (agenda.nextAtMs < Number.POSITIVE_INFINITY) agenda.takeNext()?.();
    expect(done).toEqual(['a', 'b', 'c']);
    expect(agenda.takeNext()).toBeUndefined();
  });
});

describe('the command line', () => {
  it('takes a scenario and options, and says what is wrong', () => {
    expect(parseArguments(['flood', '--quick', '--seeds', '3', '--arm', 'sticky'])).toEqual({
      what: 'flood',
      quick: true,
      seeds: 3,
      arms: ['sticky'],
    });
    expect(() => parseArguments([])).toThrow(/usage/);
    expect(() => parseArguments(['flood', 'all'])).toThrow(/unexpected 'all'/);
    expect(() => parseArguments(['flood', '--seeds', '0'])).toThrow(/whole number/);
    expect(() => parseArguments(['flood', '--arm'])).toThrow(/needs a value/);
  });
});
