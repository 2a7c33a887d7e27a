import { describe, expect, it } from 'vitest';
import { barLine } from '../../../bench/bars.ts';
import { floodArms } from '../../../bench/flood/arms.ts';
import { planOf, seedsOf } from '../../../bench/flood/plan.ts';
import { summaryOf } from '../../../bench/flood/run-flood.ts';
import {
  bestLines,
  bestOf,
  comparisonOf,
  failureLines,
  floodBars,
  identityOf,
} from '../../../bench/flood/summary.ts';
import { windowOf } from './found-window.ts';

const plan = planOf('simulated', true, 1);
const seeds = [1, 2, 3];
const rates = (interactive: number, batch: number, p50: number) => ({
  interactiveRunsPerMinute: interactive,
  batchRunsPerMinute: batch,
  interactiveP50Ms: p50,
  turnsPerMinute: (interactive + batch) * 4,
});
const windows = [
  ...seeds.map((seed) => windowOf('sglang-router', seed, rates(8, 90, 30_000))),
  // Faster at one thing only, so the best rival is another one for each goal.
  ...seeds.map((seed) => windowOf('smg', seed, rates(5, 100, 28_000))),
  ...seeds.map((seed) => windowOf('programs', seed, rates(16, 80, 14_000))),
  ...seeds.map((seed, index) => windowOf('residency', seed, rates(32 + index, 150, 7_000))),
];
const routers = ['sglang-router', 'smg'];
const comparison = comparisonOf(plan.scenario, seeds, windows);
const who = { arm: 'residency', base: 'sglang-router', routers, schedulers: ['programs'] };

describe('the bars of the flood', () => {
  it('are over the router they name, over the one that is best in each, and over what schedules', () => {
    expect(floodBars(comparison, who).slice(0, 9).map(barLine)).toEqual([
      'bar flood interactive runs/min over sglang-router: 4.125 (>= 3) ok',
      'bar flood batch runs/min over sglang-router: 1.667 (>= 1.3) ok',
      'bar flood interactive p50 over sglang-router: 0.2333 (<= 0.4) ok',
      'bar flood interactive runs/min over the best router: 4.125 (>= 3) ok',
      'bar flood batch runs/min over the best router: 1.5 (>= 1.3) ok',
      'bar flood interactive p50 over the best router: 0.25 (<= 0.4) ok',
      'bar flood interactive runs/min over programs: 2.063 (>= 1) ok',
      'bar flood batch runs/min over programs: 1.875 (>= 1) ok',
      'bar flood interactive p50 over programs: 0.5 (<= 1) ok',
    ]);
    expect(bestOf(comparison, routers, 'batchRunsPerMinute', 'highest')).toBe('smg');
    expect(bestLines(comparison, 'residency', routers)[1]).toContain('the best is smg');
  });

  it('have the spread of the repeats, each against the same seed', () => {
    const [interactive] = floodBars(comparison, who);
    expect(interactive?.spread).toEqual({ median: 33 / 8, lowest: 4, highest: 34 / 8 });
  });

  it('are the same for a quick run', () => {
    const limits = (quick: boolean): unknown =>
      floodBars({ ...comparison, scenario: planOf('simulated', quick, 1).scenario }, who).map(
        ({ name, op, limit }) => [name, op, limit],
      );
    expect(limits(true)).toEqual(limits(false));
  });

  it('are missed where a rival could not be run, not left out', () => {
    const alone = comparisonOf(plan.scenario, seeds, windows.slice(9));
    const bars = floodBars(alone, who);
    expect(bars).toHaveLength(10);
    expect(bars.slice(0, 9).every(({ value }) => value === null)).toBe(true);
  });

  it('ask for the share of what memory allows', () => {
    const [share] = floodBars(comparison, who).slice(-1);
    expect(share).toMatchObject({ name: 'flood share of the memory bound', op: '>=', limit: 0.85 });
    expect(share?.value).toBeGreaterThan(0.5);
    expect(share?.value).toBeLessThan(1.2);
  });
});

describe('whether arms did the same work', () => {
  it('is told by what their runs were answered with the same seed', () => {
    const answers = (...pairs: [string, string][]) => ({ answers: new Map(pairs) });
    const identity = identityOf([
      windowOf('a', 1, {}, answers(['r', '1'], ['s', '2'])),
      windowOf('a', 2, {}, answers(['r', '9'])),
      windowOf('b', 1, {}, { ...answers(['r', '1'], ['s', 'x'], ['t', '3']), wrongReplies: 4 }),
      windowOf('b', 2, {}, answers(['r', '9'])),
    ]);
    expect(identity).toEqual({ wrongReplies: 4, compared: 3, different: 1 });
  });

  it('is a bar', () => {
    const found = { windows: [windowOf('residency', 1, {}, { wrongReplies: 2 })], notRun: {} };
    const { bars } = summaryOf(plan, [1], floodArms, found, null);
    expect(bars.map(barLine)).toContain('bar flood replies that differ: 2 (= 0) missed');
  });
});

describe('what a flood says beside its bars', () => {
  it('names arms that lost runs, and arms that were not run', () => {
    const lost = windowOf('smg', 1, {}, { failures: { count: 2, reasons: ['status 503'] } });
    expect(failureLines([...windows, lost])).toEqual(['runs lost by smg: 2; status 503']);
    const { text, details } = summaryOf(
      plan,
      [1],
      floodArms,
      { windows, notRun: { smg: 'no network' } },
      null,
    );
    expect(text).toContain('smg was not run: no network');
    expect(details).toMatchObject({ notRun: { smg: 'no network' } });
  });

  it('keeps when each run ended, for charts over the time', () => {
    const endedAtMs = { interactive: [10, 20], batch: [5] };
    const found = { windows: [windowOf('residency', 7, {}, { endedAtMs })], notRun: {} };
    expect(summaryOf(plan, [7], floodArms, found, null).details['series']).toEqual([
      { arm: 'residency', seed: 7, endedAtMs },
    ]);
  });

  it('measures on seeds that nothing was tuned on', () => {
    expect(seedsOf(3)).toHaveLength(3);
    expect(seedsOf(3).every((seed) => seed > 2_000)).toBe(true);
  });
});
