/** Ratios of the arms repeat by repeat, as a table, as bars and as a picture. Pure. */
import { bar, spreadBar, type Bar } from '../bars.ts';
import { quantilesOf, ratioOver, spreadText, type QuantileName } from '../overhead/statistics.ts';
import type { ChartSpec } from '../plots/chart.ts';
import { distribution } from '../plots/series.ts';
import { spreadOf, type Spread } from '../sim/statistics.ts';
import { alignedTable } from '../sim/table.ts';
import type { DecideArm, DecideResult, DecideWindow } from './measure.ts';
import { maxRatio, type DecideCase, type DecideKind } from './plan.ts';

export function caseName({ kind, concurrent }: DecideCase): string {
  return `${kind === 'one-shot' ? 'one-shot engine' : 'labels'}, ${concurrent === 1 ? 'alone' : `${concurrent} at a time`}`;
}

function windowsOf(result: DecideResult, one: DecideCase, arm: DecideArm): readonly DecideWindow[] {
  return result.windows
    .filter((window) => caseName(window.case) === caseName(one) && window.arm === arm)
    .toSorted((a, b) => a.repeat - b.repeat);
}

function quantiles(
  result: DecideResult,
  one: DecideCase,
  arm: DecideArm,
  name: QuantileName,
): readonly (number | null)[] {
  return windowsOf(result, one, arm).map(({ latencyMs }) => quantilesOf(latencyMs)[name]);
}

export function latencyRatio(result: DecideResult, one: DecideCase, name: QuantileName): Spread {
  return ratioOver(quantiles(result, one, 'fermata', name), quantiles(result, one, 'direct', name));
}

export function decideBars(result: DecideResult, cases: readonly DecideCase[]): readonly Bar[] {
  return [
    ...cases.map((one) =>
      spreadBar(`decide ${caseName(one)}, p50 over direct`, latencyRatio(result, one, 'p50'), '<=', maxRatio),
    ),
    bar(
      'decide requests failed',
      result.windows.reduce((sum, { failed }) => sum + failed, 0),
      '=',
      0,
    ),
    bar('decide labels that differ', result.compared === 0 ? null : result.different, '=', 0),
  ];
}

export function decideTable(result: DecideResult, cases: readonly DecideCase[]): string {
  const row = (one: DecideCase): string[] => {
    const measured = (arm: DecideArm, name: QuantileName): string =>
      spreadText(spreadOf(quantiles(result, one, arm, name)), 1);
    return [
      caseName(one),
      measured('direct', 'p50'),
      measured('fermata', 'p50'),
      spreadText(latencyRatio(result, one, 'p50'), 3),
      measured('direct', 'p99'),
      measured('fermata', 'p99'),
      String(windowsOf(result, one, 'fermata').reduce((sum, { latencyMs }) => sum + latencyMs.length, 0)),
    ];
  };
  return alignedTable([
    ['ms', 'direct p50', 'fermata p50', 'over direct', 'direct p99', 'fermata p99', 'requests'],
    ...cases.map(row),
  ]);
}

/** Latencies of all repeats, both arms of every case of this kind. */
export function decideChart(
  result: DecideResult,
  cases: readonly DecideCase[],
  kind: DecideKind,
  note: string,
): ChartSpec {
  return {
    title: `A classification ${kind === 'one-shot' ? 'by a one-shot engine' : 'by one generative token'}`,
    note,
    x: { label: 'milliseconds', scale: 'log' },
    y: { label: '% of the requests' },
    series: cases
      .filter((one) => one.kind === kind)
      .flatMap((one) =>
        (['direct', 'fermata'] as const).map((arm) =>
          distribution(
            `${arm}, ${one.concurrent === 1 ? 'alone' : `${one.concurrent} at a time`}`,
            windowsOf(result, one, arm).flatMap(({ latencyMs }) => latencyMs),
          ),
        ),
      ),
  };
}
