/** A comparison as text: one row an arm, medians over the seeds, the spread where it matters. */
import { spread, type Comparison } from './compare.ts';
import type { MetricName } from './measure.ts';
import type { Spread } from './statistics.ts';

interface Column {
  readonly title: string;
  readonly metric: MetricName;
  readonly text: (value: Spread) => string;
}

const number = (value: number | null, digits = 0): string => (value === null ? '-' : value.toFixed(digits));
const seconds = ({ median }: Spread): string => number(median === null ? null : median / 1_000, 1);
const ranged =
  (digits: number) =>
  (value: Spread): string =>
    value.median === null
      ? '-'
      : `${number(value.median, digits)} (${number(value.lowest, digits)}-${number(value.highest, digits)})`;

const columns: readonly Column[] = [
  { title: 'int runs/min', metric: 'interactiveRunsPerMinute', text: ranged(1) },
  { title: 'batch runs/min', metric: 'batchRunsPerMinute', text: ranged(1) },
  { title: 'turns/min', metric: 'turnsPerMinute', text: ({ median }) => number(median) },
  { title: 'tokens/s', metric: 'tokensPerSecond', text: ranged(0) },
  { title: 'int p50 s', metric: 'interactiveP50Ms', text: seconds },
  { title: 'int p95 s', metric: 'interactiveP95Ms', text: seconds },
  { title: 'hold p50 i', metric: 'interactiveHoldP50Ms', text: seconds },
  { title: 'hold p95 i', metric: 'interactiveHoldP95Ms', text: seconds },
  { title: 'hold p50 b', metric: 'batchHoldP50Ms', text: seconds },
  { title: 'hold p95 b', metric: 'batchHoldP95Ms', text: seconds },
  { title: 'longest b', metric: 'longestBatchHoldMs', text: seconds },
  { title: 'cached', metric: 'cachedShare', text: ({ median }) => number(median, 2) },
  { title: 'preempt', metric: 'preemptions', text: ({ median }) => number(median) },
  { title: 'failed', metric: 'failedRuns', text: ({ median }) => number(median) },
];

export function comparisonTable(comparison: Comparison): string {
  const rows = comparison.results.map(({ arm }) => [
    arm,
    ...columns.map(({ metric, text }) => text(spread(comparison, arm, metric))),
  ]);
  return alignedTable([['arm', ...columns.map(({ title }) => title)], ...rows]);
}

/** The first column to the left, the others to the right. */
export function alignedTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  '),
    )
    .join('\n');
}
