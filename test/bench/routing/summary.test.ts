import { describe, expect, it } from 'vitest';
import { barLine } from '../../../bench/bars.ts';
import { routingArms } from '../../../bench/flood/arms.ts';
import { routingPlan, routingSummary } from '../../../bench/routing/run-routing.ts';
import { windowOf } from '../flood/found-window.ts';

const plan = routingPlan(true, 1);
const rates = (runs: number, share: number) => ({ turnsPerMinute: 4 * runs, cachedShare: share });

function barsOf(own: readonly [number, number]): string[] {
  const windows = [1, 2, 3].flatMap((seed) => [
    windowOf('sglang-router', seed, rates(100, 0.9)),
    windowOf('vllm-router-round-robin', seed, rates(110, 0.4)),
    windowOf('residency', seed, rates(...own)),
  ]);
  return routingSummary(plan, [1, 2, 3], routingArms, { windows, notRun: {} }).bars.map(barLine);
}

describe('the bars of routing', () => {
  it('are met by what ties with the rival that is best in each', () => {
    expect(barsOf([109, 0.9])).toEqual([
      'bar routing runs/min over the best rival: 0.9909 (>= 0.97) ok',
      'bar routing cached share over the best rival: 1 (>= 0.97) ok',
      'bar routing replies that differ: 0 (= 0) ok',
    ]);
  });

  it('are missed by what is behind it', () => {
    expect(barsOf([100, 0.8]).slice(0, 2)).toEqual([
      'bar routing runs/min over the best rival: 0.9091 (>= 0.97) missed',
      'bar routing cached share over the best rival: 0.8889 (>= 0.97) missed',
    ]);
  });
});
