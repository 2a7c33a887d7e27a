import { describe, expect, it } from 'vitest';
import { isMet } from '../../../bench/bars.ts';
import {
  cachedPointsBehind,
  fairnessBars,
  fairnessTable,
  waitRatio,
  type ShareFound,
  type WaitFound,
} from '../../../bench/fairness/summary.ts';
import { shareArms, waitLanes, shareLanes } from '../../../bench/fairness/plan.ts';

const waits = (lane: 'alone' | 'beside', factor: number): WaitFound[] =>
  [1, 2, 3].map((seed) => ({
    lane,
    seed,
    waitsMs: Array.from({ length: 20 }, (_, index) => (5_000 + index * 10) * factor),
    failed: 0,
  }));

const shares = (cached: Readonly<Record<string, number>>, jain = 0.99): ShareFound[] =>
  shareArms.flatMap((arm) =>
    [1, 2, 3].map((seed) => ({
      arm,
      seed,
      service: { few: 1, many: 1, long: 1, double: 1 },
      jain: arm === 'tokens' ? jain : 0.7,
      cachedShare: cached[arm] ?? 0,
      turnsPerMinute: 100,
      failed: 0,
    })),
  );
const even = { 'sglang-router': 0.1, inflight: 0.5, tokens: 0.49 };

describe('the bars of fairness', () => {
  it('are met by a light caller that hardly waits longer, and tokens evened out at little cost', () => {
    const bars = fairnessBars([...waits('alone', 1), ...waits('beside', 1.2)], shares(even));
    expect(bars.filter((one) => !isMet(one))).toEqual([]);
  });

  it('take the 95th percentile of all repeats together', () => {
    const ratio = waitRatio([...waits('alone', 1), ...waits('beside', 1.4)]);
    expect(ratio.median).toBeCloseTo(1.4);
    expect(ratio.lowest).toBeCloseTo(1.4);
  });

  it.each([
    ["fairness light caller's p95 wait beside a heavy one over alone", waits('beside', 1.6), shares(even)],
    ["fairness Jain's index of tokens by weight", waits('beside', 1.1), shares(even, 0.9)],
    [
      'fairness cached share behind the best in points',
      waits('beside', 1.1),
      shares({ ...even, tokens: 0.45 }),
    ],
    ['fairness runs failed', waits('beside', 1.1).map((one) => ({ ...one, failed: 1 })), shares(even)],
  ])('miss %s where it is broken', (name, beside, found) => {
    const missed = fairnessBars([...waits('alone', 1), ...beside], found).filter((one) => !isMet(one));
    expect(missed.map((one) => one.name)).toEqual([name]);
  });

  it('count the best arm of all, rivals too', () => {
    expect(cachedPointsBehind(shares({ ...even, 'sglang-router': 0.6 }))).toBeCloseTo(11);
  });

  it('stand under a table of every arm', () => {
    const text = fairnessTable([...waits('alone', 1), ...waits('beside', 1.2)], shares(even));
    for (const words of ['alone', 'beside ten times', 'sglang-router', 'fairness by tokens'])
      expect(text).toContain(words);
  });
});

describe('the callers of fairness', () => {
  it('have ten times the load beside the light one, whose load is the same in both lanes', () => {
    const [alone, beside] = waitLanes();
    expect(beside?.loads[0]).toEqual(alone?.loads[0]);
    const rates = beside?.loads.map((load) => (load.kind === 'poisson' ? load.runsPerMinute : 0));
    expect(rates?.[1]).toBe(10 * (rates?.[0] ?? 0));
  });

  it('ask every arm for the same work on the same memory', () => {
    const lanes = shareLanes();
    expect(new Set(lanes.map(({ loads, replicas }) => JSON.stringify([loads, replicas]))).size).toBe(1);
  });
});
