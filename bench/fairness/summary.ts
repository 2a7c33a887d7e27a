/** What callers waited and got, as tables, bars and a picture. Pure. */
import { bar, spreadBar, type Bar } from '../bars.ts';
import { ratioOver, spreadText } from '../overhead/statistics.ts';
import type { ChartSpec } from '../plots/chart.ts';
import { distribution } from '../plots/series.ts';
import { answerWaits, measure, serviceByCaller } from '../sim/measure.ts';
import { jainIndex, quantile, spreadOf, type Spread } from '../sim/statistics.ts';
import { alignedTable } from '../sim/table.ts';
import type { LaneFound } from './lane.ts';
import { limits, shareArms, weights, type ShareArm, type WaitLane } from './plan.ts';

/** What is kept of a lane. */
export interface WaitFound {
  readonly lane: WaitLane;
  readonly seed: number;
  /** Of the light caller, from the start of a run to its answer. */
  readonly waitsMs: readonly number[];
  readonly failed: number;
}

export interface ShareFound {
  readonly arm: ShareArm;
  readonly seed: number;
  /** Tokens by weight: uncached prompt 1, cached 0.1, output 2, over the caller's weight. */
  readonly service: Readonly<Record<string, number>>;
  readonly jain: number | null;
  readonly cachedShare: number | null;
  readonly turnsPerMinute: number | null;
  readonly failed: number;
}

export function waitOf({ name, seed, recording, failures }: LaneFound): WaitFound {
  return {
    lane: name === 'alone' ? 'alone' : 'beside',
    seed,
    waitsMs: answerWaits(recording, ({ caller }) => caller === 'light').map(Math.round),
    failed: failures.count,
  };
}

export function shareOf({ name, seed, recording, failures }: LaneFound): ShareFound {
  const served = serviceByCaller(recording);
  const service = Object.fromEntries(
    Object.entries(weights).map(([caller, weight]) => [caller, (served.get(caller) ?? 0) / weight]),
  );
  const { cachedShare, turnsPerMinute } = measure(recording);
  const arm = shareArms.find((one) => one === name);
  if (arm === undefined) throw new RangeError(`no arm ${name}`);
  return {
    arm,
    seed,
    service,
    jain: jainIndex(Object.values(service)),
    cachedShare,
    turnsPerMinute,
    failed: failures.count,
  };
}

function pooled(waits: readonly WaitFound[], lane: WaitLane): readonly number[] {
  return waits.filter((one) => one.lane === lane).flatMap(({ waitsMs }) => waitsMs);
}

/** By seed, in order. */
function p95s(waits: readonly WaitFound[], lane: WaitLane): readonly (number | null)[] {
  return waits
    .filter((one) => one.lane === lane)
    .toSorted((a, b) => a.seed - b.seed)
    .map(({ waitsMs }) => quantile(waitsMs, 0.95));
}

/**
 * p95 beside over alone: of all repeats' runs together, since a single window has too few for a 95th percentile;
 * the range is that of the repeats.
 */
export function waitRatio(waits: readonly WaitFound[]): Spread {
  const [beside, alone] = [quantile(pooled(waits, 'beside'), 0.95), quantile(pooled(waits, 'alone'), 0.95)];
  const { lowest, highest } = ratioOver(p95s(waits, 'beside'), p95s(waits, 'alone'));
  return { median: beside === null || alone === null ? null : beside / alone, lowest, highest };
}

function shares(found: readonly ShareFound[], arm: ShareArm, of: (one: ShareFound) => number | null): Spread {
  return spreadOf(found.filter((one) => one.arm === arm).map(of));
}

/** In points of the share, behind the arm that has most; 0 for that one. */
export function cachedPointsBehind(found: readonly ShareFound[]): number | null {
  const medians = shareArms.map((arm) => shares(found, arm, ({ cachedShare }) => cachedShare).median);
  const own = medians[shareArms.indexOf('tokens')] ?? null;
  if (own === null || medians.some((one) => one === null)) return null;
  return (Math.max(...medians.map((one) => one ?? 0)) - own) * 100;
}

export function fairnessBars(waits: readonly WaitFound[], found: readonly ShareFound[]): readonly Bar[] {
  const ours = found.filter(({ arm }) => arm !== 'sglang-router');
  return [
    spreadBar(
      "fairness light caller's p95 wait beside a heavy one over alone",
      waitRatio(waits),
      '<=',
      limits.waitRatio,
    ),
    spreadBar(
      "fairness Jain's index of tokens by weight",
      shares(found, 'tokens', ({ jain }) => jain),
      '>=',
      limits.jain,
    ),
    bar(
      'fairness cached share behind the best in points',
      cachedPointsBehind(found),
      '<=',
      limits.cachedPointsBehind,
    ),
    bar(
      'fairness runs failed',
      [...waits, ...ours].reduce((sum, { failed }) => sum + failed, 0),
      '=',
      0,
    ),
  ];
}

export function fairnessTable(waits: readonly WaitFound[], found: readonly ShareFound[]): string {
  const seconds = (value: number | null): string => (value === null ? '-' : (value / 1_000).toFixed(2));
  const waitRow = (lane: WaitLane): string[] => [
    lane === 'alone' ? 'alone' : 'beside ten times its load',
    String(pooled(waits, lane).length),
    seconds(quantile(pooled(waits, lane), 0.5)),
    seconds(quantile(pooled(waits, lane), 0.95)),
    p95s(waits, lane).map(seconds).join(' '),
  ];
  const shareRow = (arm: ShareArm): string[] => [
    arm === 'sglang-router' ? arm : `fermata, fairness by ${arm}`,
    spreadText(
      shares(found, arm, ({ jain }) => jain),
      3,
    ),
    ...Object.keys(weights).map((caller) =>
      spreadText(
        shares(found, arm, ({ service }) => relative(service, caller)),
        2,
      ),
    ),
    spreadText(
      shares(found, arm, ({ cachedShare }) => cachedShare),
      3,
    ),
    spreadText(
      shares(found, arm, ({ turnsPerMinute }) => turnsPerMinute),
      0,
    ),
    String(found.filter((one) => one.arm === arm).reduce((sum, { failed }) => sum + failed, 0)),
  ];
  return [
    alignedTable([
      ['light caller, run to its answer', 'runs', 'p50 s', 'p95 s', 'p95 s of each repeat'],
      waitRow('alone'),
      waitRow('beside'),
    ]),
    '',
    alignedTable([
      [
        'tokens by weight over the mean',
        "Jain's index",
        ...Object.keys(weights),
        'cached',
        'turns/min',
        'failed',
      ],
      ...shareArms.map(shareRow),
    ]),
  ].join('\n');
}

function relative(service: Readonly<Record<string, number>>, caller: string): number | null {
  const all = Object.values(service);
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
  return mean === 0 ? null : (service[caller] ?? 0) / mean;
}

export function fairnessChart(waits: readonly WaitFound[], note: string): ChartSpec {
  const series = (name: string, lane: WaitLane) =>
    distribution(
      name,
      pooled(waits, lane).map((ms) => ms / 1_000),
    );
  return {
    title: 'How long the light caller waits for the answer of a run',
    note,
    x: { label: 'seconds' },
    y: { label: '% of its runs' },
    series: [series('alone', 'alone'), series('beside ten times its load', 'beside')],
  };
}
