import { describe, expect, it } from 'vitest';
import { barLine, isMet } from '../../../bench/bars.ts';
import {
  compareFairness,
  fairnessArms,
  fairnessBars,
  fairnessTable,
  type FairnessResult,
} from '../../../bench/sim/fairness.ts';

const at = (value: number): { median: number; lowest: number; highest: number } => ({
  median: value,
  lowest: value,
  highest: value,
});

function result(arm: string, fields: Partial<Record<keyof FairnessResult, number>> = {}): FairnessResult {
  return {
    arm,
    aloneP95Ms: at(5_000),
    besideP95Ms: at(7_000),
    waitRatio: at(fields.waitRatio ?? 1.4),
    firstByteRatio: at(4),
    floodedRatio: at(4),
    jain: at(fields.jain ?? 0.99),
    cachedShare: at(fields.cachedShare ?? 0.7),
    longestBatchHoldMs: at(fields.longestBatchHoldMs ?? 90_000),
  };
}

describe('the bars of fairness', () => {
  it('ask wait and hold of the default order, and shares of the order by tokens', () => {
    const bars = fairnessBars([
      result('sticky', { waitRatio: 9, jain: 0.1, longestBatchHoldMs: 0 }),
      result('residency inflight', { waitRatio: 1.4, jain: 0.5 }),
      result('residency tokens', { waitRatio: 3, jain: 0.99 }),
    ]);
    expect(bars.map(isMet)).toEqual([true, true, true, true]);
  });

  it('are missed when a caller waits, shares differ, caches suffer or batch starves', () => {
    const bars = fairnessBars([
      result('sticky', { cachedShare: 0.8 }),
      result('residency inflight', { waitRatio: 1.6, longestBatchHoldMs: 700_000 }),
      result('residency tokens', { jain: 0.9, cachedShare: 0.77 }),
    ]);
    expect(bars.map(isMet)).toEqual([false, false, false, false]);
    expect(bars.map(barLine)[3]).toBe('bar fairness longest batch hold s: 700 (<= 600) missed');
  });

  it('are not measured without the arms they ask for', () => {
    expect(fairnessBars([result('sticky')]).map(({ value }) => value)).toEqual([null, null, null, null]);
  });
});

describe('comparing callers', () => {
  it('gives every number for every arm, and the order by tokens the evener shares', () => {
    const shorten = <T extends { warmUpMs: number; windowMs: number }>(scenario: T): T => ({
      ...scenario,
      warmUpMs: 40_000,
      windowMs: 80_000,
    });
    const results = compareFairness(fairnessArms(), [1], shorten);
    expect(results.map(({ arm }) => arm)).toEqual([
      'sticky',
      'llm-d-attained-service',
      'residency inflight',
      'residency tokens',
    ]);
    for (const one of results) {
      expect(one.waitRatio.median).toBeGreaterThan(1);
      expect(one.jain.median).toBeGreaterThan(0.5);
      expect(one.jain.median).toBeLessThanOrEqual(1);
    }
    const jainOf = (name: string): number => results.find(({ arm }) => arm === name)?.jain.median ?? 0;
    expect(jainOf('residency tokens')).toBeGreaterThan(jainOf('residency inflight'));
    expect(fairnessTable(results).split('\n')).toHaveLength(5);
  });
});
