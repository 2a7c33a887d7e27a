import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bar,
  barLine,
  exitCodeOf,
  isMet,
  markdownOf,
  publish,
  reportOf,
  spreadBar,
} from '../../bench/bars.ts';
import type { Bar, Operator } from '../../bench/bars.ts';

const operators: readonly Operator[] = ['>=', '<=', '='];
const context = { node: 'v20', date: '2026-11-29T00:00:00.000Z', platform: 'x', cpus: 2, packages: {} };
const anyBar = fc
  .tuple(
    fc.option(fc.double({ noDefaultInfinity: false })),
    fc.constantFrom(...operators),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
  .map(([value, op, limit]): Bar => ({ name: 'x', value, op, limit }));

it('a report for people has a row a bar, with what it was measured on', () => {
  const bars = [
    spreadBar('ratio', { median: 3.000_01, lowest: 2, highest: 5.123_45 }, '>=', 3),
    bar('lost | gone', null, '=', 0),
  ];
  expect(markdownOf(reportOf('flood', bars, context)).split('\n')).toEqual([
    'flood: 2026-11-29 00:00, 2 cores, x, Node v20',
    '',
    '| bar | value | lowest..highest | limit | |',
    '|---|---:|---:|---:|---|',
    '| ratio | 3 | 2..5.123 | >= 3 | ok |',
    '| lost \\| gone | not measured |  | = 0 | **missed** |',
    '',
  ]);
});

describe('the line of a bar', () => {
  it.each([
    [bar('flood interactive ratio', 3.214_159, '>=', 3), 'bar flood interactive ratio: 3.214 (>= 3) ok'],
    [bar('overhead p50 ms', 1.2, '<=', 1), 'bar overhead p50 ms: 1.2 (<= 1) missed'],
    [bar('runs lost', 0, '=', 0), 'bar runs lost: 0 (= 0) ok'],
    [bar('runs lost', 1, '=', 0), 'bar runs lost: 1 (= 0) missed'],
    [bar('tokens', 1_234_567, '>=', 1_000_000), 'bar tokens: 1234567 (>= 1000000) ok'],
    [bar('p99 ms', null, '<=', 5), 'bar p99 ms: not measured (<= 5) missed'],
    [bar('p99 ms', Number.NaN, '<=', 5), 'bar p99 ms: NaN (<= 5) missed'],
    [bar('ratio', Number.POSITIVE_INFINITY, '>=', 3), 'bar ratio: Infinity (>= 3) missed'],
  ])('reads as agreed: %o', (one, line) => {
    expect(barLine(one)).toBe(line);
  });

  it('takes the middle of repeats as its value, and keeps the spread for the result', () => {
    const one = spreadBar('ratio', { median: 3, lowest: 2, highest: 5 }, '>=', 3);
    expect(barLine(one)).toBe('bar ratio: 3 (>= 3) ok');
    expect(reportOf('flood', [one], context).bars).toMatchObject([
      { value: 3, ok: true, spread: { lowest: 2, highest: 5 } },
    ]);
  });

  it('shows a miss by a hair as a number that misses', () => {
    expect(barLine(bar('p50 ms', 1.000_01, '<=', 1))).toBe('bar p50 ms: 1.00001 (<= 1) missed');
    expect(barLine(bar('ratio', 2.999_99, '>=', 3))).toBe('bar ratio: 2.99999 (>= 3) missed');
  });

  it('never prints a number that contradicts its verdict', () => {
    fc.assert(
      fc.property(anyBar, (one) => {
        const [, value, verdict] = /^bar x: (.+) \([<>=]+ .+\) (ok|missed)$/.exec(barLine(one)) ?? [];
        const printed = value === 'not measured' ? null : Number(value);
        expect(isMet({ ...one, value: printed })).toBe(verdict === 'ok');
        expect(isMet(one)).toBe(verdict === 'ok');
      }),
    );
  });

  it.each(['', ' x', 'x ', 'a: b', 'a\nb'])('refuses the name %j, which would garble it', (name) => {
    expect(() => bar(name, 1, '=', 1)).toThrow(RangeError);
  });

  it('refuses a limit that no value could meet or miss', () => {
    expect(() => bar('x', 1, '>=', Number.NaN)).toThrow('its limit is NaN');
  });
});

describe('the exit code', () => {
  const met = bar('met', 1, '=', 1);
  const missed = bar('missed', 0, '=', 1);

  it('is 0 only when every bar is met', () => {
    expect(exitCodeOf([met, bar('met too', 2, '>=', 1)])).toBe(0);
    expect(exitCodeOf([met, missed])).toBe(1);
    expect(exitCodeOf([missed, met])).toBe(1);
  });

  it('is 1 when nothing was measured', () => {
    expect(exitCodeOf([])).toBe(1);
    expect(exitCodeOf([bar('x', null, '<=', 1)])).toBe(1);
  });
});

describe('the report', () => {
  it('keeps values, verdicts and details, and says whether all is well', () => {
    const report = reportOf('flood', [bar('a', 1, '>=', 2)], context, { seeds: [1, 2] });
    expect(report).toEqual({
      name: 'flood',
      ok: false,
      bars: [{ name: 'a', value: 1, op: '>=', limit: 2, ok: false }],
      context,
      details: { seeds: [1, 2] },
    });
  });

  it('survives JSON with its verdicts, whatever was measured', () => {
    fc.assert(
      fc.property(anyBar, (one) => {
        const read = JSON.parse(JSON.stringify(reportOf('x', [one], context))) as ReturnType<typeof reportOf>;
        expect(read.ok).toBe(isMet(one));
        expect(read.bars[0]?.ok).toBe(isMet(one));
      }),
    );
  });
});

describe('publishing', () => {
  async function inDirectory(use: (directory: string) => Promise<void>): Promise<void> {
    const directory = await mkdtemp(join(tmpdir(), 'fermata-bars-'));
    try {
      await use(directory);
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  it('prints a line a bar, writes the same as JSON with its context, and resolves to the exit code', async () => {
    await inDirectory(async (directory) => {
      const lines: string[] = [];
      const bars = [bar('a', 2, '>=', 1), bar('b', 2, '<=', 1)];
      const code = await publish('some-command', bars, {
        directory,
        print: (line) => lines.push(line),
        packages: { rival: '1.2.3' },
        details: { seeds: [7] },
      });
      expect(code).toBe(1);
      expect(lines).toEqual(['bar a: 2 (>= 1) ok', 'bar b: 2 (<= 1) missed']);
      const report: unknown = JSON.parse(await readFile(join(directory, 'some-command.json'), 'utf8'));
      expect(report).toMatchObject({
        name: 'some-command',
        ok: false,
        bars: [
          { name: 'a', ok: true },
          { name: 'b', ok: false },
        ],
        context: {
          node: process.version,
          packages: { rival: '1.2.3', zod: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string },
        },
        details: { seeds: [7] },
      });
    });
  });

  it('refuses names that lead out of its folder and bars that share a name, before it prints', async () => {
    const lines: string[] = [];
    const print = (line: string): number => lines.push(line);
    await expect(publish('../x', [bar('a', 1, '=', 1)], { print })).rejects.toThrow(RangeError);
    const twins = [bar('a', 1, '=', 1), bar('a', 2, '=', 2)];
    await expect(publish('x', twins, { print })).rejects.toThrow("two bars are named 'a'");
    expect(lines).toEqual([]);
  });
});
