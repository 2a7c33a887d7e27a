/** What both load generators say of the same gateway, side by side, and whether they agree. Pure. */
import { bar, type Bar } from '../bars.ts';
import { spreadText } from '../overhead/statistics.ts';
import { spreadOf, type Spread } from '../sim/statistics.ts';
import { alignedTable } from '../sim/table.ts';
import { distanceOf, measuredOf, measuredText, type Measured } from './agreement.ts';
import type { Generator, OutsideArm, OutsideResult } from './measure.ts';

/** A median of some hundred times on a shared machine, and a rate over a second, are told no better than this. */
const leastErrors = {
  addedMs: { share: 0, absolute: 0.05 },
  requestsPerSecond: { share: 0.03, absolute: 0 },
} as const;

type PacedQuantile = 'p50Ms' | 'p99Ms';

function pacedValues(
  { paced }: OutsideResult,
  generator: Generator,
  arm: OutsideArm,
  quantile: PacedQuantile,
): readonly (number | null)[] {
  return paced
    .filter((window) => window.generator === generator && window.arm === arm)
    .toSorted((a, b) => a.repeat - b.repeat)
    .map((window) => window[quantile]);
}

/** Through the gateway over direct, repeat by repeat, in milliseconds. */
export function addedMs(result: OutsideResult, generator: Generator, quantile: PacedQuantile): Spread {
  const direct = pacedValues(result, generator, 'direct', quantile);
  return spreadOf(
    pacedValues(result, generator, 'fermata', quantile).map((value, repeat) => {
      const base = direct[repeat] ?? null;
      return value === null || base === null ? null : value - base;
    }),
  );
}

export function requestsPerSecond(result: OutsideResult, generator: Generator, arm: OutsideArm): Spread {
  return spreadOf(
    (result.closed ?? [])
      .filter((window) => window.generator === generator && window.arm === arm)
      .map((window) => window.requestsPerSecond),
  );
}

function bothAdded(result: OutsideResult): readonly (Measured | null)[] {
  return (['ours', 'wrk'] as const).map((generator) =>
    measuredOf(addedMs(result, generator, 'p50Ms'), leastErrors.addedMs),
  );
}

function bothRates(result: OutsideResult): readonly (Measured | null)[] {
  return (['ours', 'wrk'] as const).map((generator) =>
    measuredOf(requestsPerSecond(result, generator, 'fermata'), leastErrors.requestsPerSecond),
  );
}

export function outsideBars(result: OutsideResult): readonly Bar[] {
  const [oursAdded = null, wrkAdded = null] = bothAdded(result);
  const [oursRate = null, wrkRate = null] = bothRates(result);
  const windows = [...result.paced, ...(result.closed ?? [])];
  return [
    bar(
      'overhead-outside first byte added p50, apart over both errors',
      distanceOf(oursAdded, wrkAdded),
      '<=',
      1,
    ),
    bar(
      'overhead-outside requests per second, apart over both errors',
      distanceOf(oursRate, wrkRate),
      '<=',
      1,
    ),
    bar(
      'overhead-outside requests failed',
      windows.reduce((sum, { failed }) => sum + failed, 0),
      '=',
      0,
    ),
  ];
}

export function outsideTable(result: OutsideResult, wrkVersion: string): string {
  const rows = (['ours', 'wrk'] as const).map((generator, index) => [
    generator === 'ours' ? 'ours' : `wrk ${wrkVersion}`,
    spreadText(spreadOf(pacedValues(result, generator, 'direct', 'p50Ms')), 2),
    spreadText(spreadOf(pacedValues(result, generator, 'fermata', 'p50Ms')), 2),
    measuredText(bothAdded(result)[index] ?? null, 2),
    spreadText(addedMs(result, generator, 'p99Ms'), 2),
    spreadText(requestsPerSecond(result, generator, 'direct'), 0),
    measuredText(bothRates(result)[index] ?? null, 0),
  ]);
  return alignedTable([
    [
      '',
      'direct p50 ms',
      'fermata p50 ms',
      'added ± error',
      'added p99',
      'direct req/s',
      'fermata req/s ± error',
    ],
    ...rows,
  ]);
}
