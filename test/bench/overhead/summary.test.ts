import { describe, expect, it } from 'vitest';
import { isMet } from '../../../bench/bars.ts';
import type { ArmName } from '../../../bench/overhead/arms/arm.ts';
import type { ClosedWindow, OpenWindow } from '../../../bench/overhead/measure.ts';
import { quantilesOf } from '../../../bench/overhead/statistics.ts';
import { Summary, latencyTable, overheadBars, throughputTable } from '../../../bench/overhead/summary.ts';

const repeats = [0, 1, 2];

function open(arm: ArmName, firstByteMs: number, lost = 0): readonly OpenWindow[] {
  return repeats.map((repeat) => ({
    arm,
    repeat,
    ratePerSecond: 200,
    seed: repeat,
    loadAverage: 0,
    settled: true,
    result: {
      kind: 'open',
      sent: 10,
      whole: 10 - lost,
      failed: lost,
      reasons: lost === 0 ? [] : ['status 500'],
      unfinished: 0,
      dropped: 0,
      firstByteMs: quantilesOf([firstByteMs]),
      chunkDelayMs: quantilesOf([0.2]),
      gapExcessMs: quantilesOf([0]),
      latenessMs: quantilesOf([0]),
    },
  }));
}

function closed(arm: ArmName, requestsPerSecond: number): readonly ClosedWindow[] {
  return repeats.flatMap((repeat) =>
    [false, true].map((streams) => ({
      arm,
      repeat,
      streams,
      loadAverage: 0,
      settled: true,
      result: {
        kind: 'closed' as const,
        sent: 10,
        whole: 10,
        failed: 0,
        reasons: [],
        requestsPerSecond,
        totalMs: quantilesOf([1]),
      },
    })),
  );
}

const missedBars = (summary: Summary): readonly string[] =>
  overheadBars(summary)
    .filter((one) => !isMet(one))
    .map(({ name }) => name);

const won = [...closed('fermata', 900), ...closed('litellm', 60), ...closed('portkey', 700)];

describe('the bars of the overhead bench', () => {
  it('are met by a proxy that adds little and serves more than both rivals', () => {
    const summary = new Summary([...open('direct', 0.5), ...open('fermata', 1.4)], won);
    expect(missedBars(summary)).toEqual([]);
  });

  it('are missed by a proxy that adds too much', () => {
    const summary = new Summary([...open('direct', 0.5), ...open('fermata', 6)], won);
    expect(missedBars(summary)).toEqual([
      'overhead first byte added p50 ms',
      'overhead first byte added p99 ms',
    ]);
  });

  it('are missed by a proxy that loses requests', () => {
    const summary = new Summary([...open('direct', 0.5), ...open('fermata', 1, 2)], won);
    expect(missedBars(summary)).toEqual(['overhead requests lost']);
    expect(summary.reasons('fermata')).toEqual(['status 500']);
  });

  it('are missed against a rival that was not run, and against one that serves more', () => {
    const rates = [...closed('fermata', 900), ...closed('portkey', 901)];
    const summary = new Summary([...open('direct', 0.5), ...open('fermata', 1)], rates);
    expect(missedBars(summary)).toEqual([
      'overhead requests per second over litellm, plain',
      'overhead requests per second over litellm, streaming',
      'overhead requests per second over portkey, plain',
      'overhead requests per second over portkey, streaming',
    ]);
  });

  it('are missed where one core could not be had', () => {
    const summary = new Summary([...open('direct', 0.5), ...open('fermata', 1)], null);
    expect(missedBars(summary)).toHaveLength(4);
  });
});

describe('the tables', () => {
  const summary = new Summary([...open('direct', 0.5), ...open('portkey', 4.5, 1)], closed('portkey', 70));

  it('show direct calls as they are and what the others add to them', () => {
    const lines = latencyTable(summary, ['direct', 'portkey'], 200).split('\n');
    expect(lines[1]).toMatch(/^direct itself\s+0\.50 \(0\.50\.\.0\.50\)/);
    expect(lines[2]).toMatch(/^portkey adds\s+4\.00 \(4\.00\.\.4\.00\)/);
  });

  it('show what each arm has lost', () => {
    expect(throughputTable(summary, ['portkey']).split('\n')[1]).toMatch(/^portkey\s+70 \(70\.\.70\).*\s3$/);
  });
});
