/** What was measured as a table and as bars: medians over the repeats, lowest and highest beside them. Pure. */
import { spreadBar, type Bar } from '../bars.ts';
import { quantilesOf, spreadText } from '../overhead/statistics.ts';
import { spreadOf, type Spread } from '../sim/statistics.ts';
import { alignedTable } from '../sim/table.ts';
import type { HistorySizes, Together } from './measure.ts';
import { limits } from './plan.ts';
import type { StepTime } from './step-times.ts';

export interface Repeat {
  readonly alone: readonly StepTime[];
  readonly together: Together | null;
  /** Milliseconds of each burst; null: not all its runs began. */
  readonly bursts: readonly (number | null)[];
  readonly history: HistorySizes;
}

type StepPart = keyof StepTime;

function stepSpread(repeats: readonly Repeat[], part: StepPart, quantile: 'p50' | 'p90' | 'p99'): Spread {
  return spreadOf(repeats.map(({ alone }) => quantilesOf(alone.map((step) => step[part]))[quantile]));
}

export function stepsBars(repeats: readonly Repeat[]): readonly Bar[] {
  return [
    spreadBar('steps added p50 ms', stepSpread(repeats, 'addedMs', 'p50'), '<=', limits.addedMsPerStep),
    spreadBar(
      'steps per second of 100 runs',
      spreadOf(repeats.map(({ together }) => together?.stepsPerSecond ?? null)),
      '>=',
      limits.stepsPerSecond,
    ),
    spreadBar(
      'steps 16 runs begun ms',
      spreadOf(repeats.flatMap(({ bursts }) => bursts)),
      '<=',
      limits.burstMs,
    ),
    spreadBar(
      'steps history second half over first',
      spreadOf(repeats.map(({ history }) => history.growth)),
      '<=',
      limits.historyGrowth,
    ),
  ];
}

export function stepsTable(repeats: readonly Repeat[]): string {
  const quantiles = (['p50', 'p90', 'p99'] as const).map((quantile) => [quantile] as const);
  const row = (title: string, part: StepPart): string[] => [
    title,
    ...quantiles.map(([quantile]) => spreadText(stepSpread(repeats, part, quantile), 1)),
  ];
  const of = (title: string, values: readonly (number | null)[], digits: number): string[] => [
    title,
    spreadText(spreadOf(values), digits),
  ];
  const processes = Object.keys(repeats[0]?.together?.cpuMsPerStep ?? {});
  return [
    alignedTable([
      ['a step of a run alone, ms', 'p50', 'p90', 'p99'],
      row('added', 'addedMs'),
      row('  turn ended to tool asked', 'toToolMs'),
      row('  tool ended to turn asked', 'toTurnMs'),
    ]),
    '',
    alignedTable([
      ['', 'median (lowest..highest)'],
      of(
        'steps/s, 100 runs',
        repeats.map(({ together }) => together?.stepsPerSecond ?? null),
        1,
      ),
      ...processes.map((name) =>
        of(
          `  processor ms a step: ${name}`,
          repeats.map(({ together }) => together?.cpuMsPerStep[name] ?? null),
          1,
        ),
      ),
      of(
        '  processors busy with other work',
        repeats.map(({ together }) => together?.foreignCores ?? null),
        2,
      ),
      of(
        '16 runs begun, ms',
        repeats.flatMap(({ bursts }) => bursts),
        0,
      ),
      of(
        'history bytes a step',
        repeats.map(({ history }) => history.bytesPerStep),
        0,
      ),
      of(
        '  second half over first',
        repeats.map(({ history }) => history.growth),
        3,
      ),
    ]),
  ].join('\n');
}
