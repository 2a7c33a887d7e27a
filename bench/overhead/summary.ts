/** What all windows together say of an arm, the bars that follow, and the tables. Pure. */
import { bar, spreadBar, type Bar } from '../bars.ts';
import { spreadOf, type Spread } from '../sim/statistics.ts';
import type { ArmName } from './arms/arm.ts';
import type { OpenResult } from './load-protocol.ts';
import type { ClosedWindow, OpenWindow } from './measure.ts';
import { barRate } from './plan.ts';
import { addedOver, ratioOver, spreadText, type QuantileName } from './statistics.ts';

const limits = {
  firstByteP50Ms: 1,
  firstByteP99Ms: 5,
  /** "No added delay between chunks": what the clocks and wake-ups of two more processes may blur. */
  gapP50Ms: 0.1,
  chunkDelayP50Ms: 1,
  chunkDelayP99Ms: 5,
} as const;

/** Rivals that must be beaten at requests/s. */
const beaten = ['litellm', 'portkey'] as const satisfies readonly ArmName[];

type Measure = 'firstByteMs' | 'chunkDelayMs' | 'gapExcessMs';

export class Summary {
  readonly #open: readonly OpenWindow[];
  readonly #closed: readonly ClosedWindow[];

  constructor(open: readonly OpenWindow[], closed: readonly ClosedWindow[] | null) {
    this.#open = open;
    this.#closed = closed ?? [];
  }

  #openOf(arm: ArmName, ratePerSecond: number): readonly OpenResult[] {
    return this.#open
      .filter((window) => window.arm === arm && window.ratePerSecond === ratePerSecond)
      .toSorted((a, b) => a.repeat - b.repeat)
      .map(({ result }) => result);
  }

  /** Over the direct windows of the same repeats, in milliseconds. */
  added(arm: ArmName, ratePerSecond: number, measure: Measure, name: QuantileName): Spread {
    const of = (which: ArmName): readonly OpenResult[Measure][] =>
      this.#openOf(which, ratePerSecond).map((result) => result[measure]);
    return addedOver(of('direct'), of(arm), name);
  }

  /** Milliseconds, direct calls included. */
  measured(arm: ArmName, ratePerSecond: number, measure: Measure, name: QuantileName): Spread {
    return spreadOf(this.#openOf(arm, ratePerSecond).map((result) => result[measure][name]));
  }

  #ratesOf(arm: ArmName, streams: boolean): readonly number[] {
    return this.#closed
      .filter((window) => window.arm === arm && window.streams === streams)
      .toSorted((a, b) => a.repeat - b.repeat)
      .map(({ result }) => result.requestsPerSecond);
  }

  requestsPerSecond(arm: ArmName, streams: boolean): Spread {
    return spreadOf(this.#ratesOf(arm, streams));
  }

  /** fermata's requests/s over another arm's, repeat by repeat. */
  over(rival: ArmName, streams: boolean): Spread {
    return ratioOver(this.#ratesOf('fermata', streams), this.#ratesOf(rival, streams));
  }

  /** Requests of an arm that were not answered whole, in all windows. */
  lost(arm: ArmName): number {
    const open = this.#open
      .filter((window) => window.arm === arm)
      .reduce((sum, { result }) => sum + result.failed + result.unfinished + result.dropped, 0);
    const closed = this.#closed
      .filter((window) => window.arm === arm)
      .reduce((sum, { result }) => sum + result.failed, 0);
    return open + closed;
  }

  /** Why, in words, each once. */
  reasons(arm: ArmName): readonly string[] {
    const open = this.#open
      .filter((window) => window.arm === arm)
      .flatMap(({ result }) => [
        ...result.reasons,
        ...(result.unfinished > 0 ? ['not answered 3 s after its window'] : []),
        ...(result.dropped > 0 ? ['not sent, since 1,000 were under way'] : []),
      ]);
    const closed = this.#closed
      .filter((window) => window.arm === arm)
      .flatMap(({ result }) => result.reasons);
    return [...new Set([...open, ...closed])];
  }
}

export function overheadBars(summary: Summary): readonly Bar[] {
  const added = (measure: Measure, name: QuantileName): Spread =>
    summary.added('fermata', barRate, measure, name);
  return [
    spreadBar('overhead first byte added p50 ms', added('firstByteMs', 'p50'), '<=', limits.firstByteP50Ms),
    spreadBar('overhead first byte added p99 ms', added('firstByteMs', 'p99'), '<=', limits.firstByteP99Ms),
    spreadBar('overhead chunk gap added p50 ms', added('gapExcessMs', 'p50'), '<=', limits.gapP50Ms),
    spreadBar(
      'overhead chunk delay added p50 ms',
      added('chunkDelayMs', 'p50'),
      '<=',
      limits.chunkDelayP50Ms,
    ),
    spreadBar(
      'overhead chunk delay added p99 ms',
      added('chunkDelayMs', 'p99'),
      '<=',
      limits.chunkDelayP99Ms,
    ),
    ...beaten.flatMap((rival) =>
      [false, true].map((streams) =>
        spreadBar(
          `overhead requests per second over ${rival}, ${streams ? 'streaming' : 'plain'}`,
          summary.over(rival, streams),
          '>=',
          1,
        ),
      ),
    ),
    bar('overhead requests lost', summary.lost('fermata'), '=', 0),
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return [head, ...rows].map(line).join('\n');
}

/** One table a rate: what each arm adds to direct calls; the row of `direct` has the calls themselves. */
export function latencyTable(summary: Summary, arms: readonly ArmName[], ratePerSecond: number): string {
  const cell = (arm: ArmName, measure: Measure, name: QuantileName): string => {
    const read = arm === 'direct' ? 'measured' : 'added';
    return spreadText(summary[read](arm, ratePerSecond, measure, name), 2);
  };
  const columns = (['firstByteMs', 'gapExcessMs', 'chunkDelayMs'] as const).flatMap((measure) =>
    (['p50', 'p99'] as const).map((name) => ({ measure, name })),
  );
  const titles = { firstByteMs: 'first byte', gapExcessMs: 'chunk gap', chunkDelayMs: 'chunk delay' };
  return table(
    [`ms at ${ratePerSecond}/s`, ...columns.map(({ measure, name }) => `${titles[measure]} ${name}`)],
    arms.map((arm) => [
      arm === 'direct' ? 'direct itself' : `${arm} adds`,
      ...columns.map(({ measure, name }) => cell(arm, measure, name)),
    ]),
  );
}

export function throughputTable(summary: Summary, arms: readonly ArmName[]): string {
  return table(
    ['requests/s on one core', 'plain', 'streaming', 'fermata over it, plain', 'streaming', 'lost'],
    arms.map((arm) => [
      arm,
      ...[false, true].map((streams) => spreadText(summary.requestsPerSecond(arm, streams), 0)),
      ...[false, true].map((streams) => (arm === 'fermata' ? '' : spreadText(summary.over(arm, streams), 2))),
      String(summary.lost(arm)),
    ]),
  );
}
