import { describe, expect, it } from 'vitest';
import { CommandFault } from '../../../cli/exit-codes.ts';
import { quantiles, reportLoad, reportText } from '../../../cli/loadgen/load-report.ts';
import { parseDuration, wholeNumber } from '../../../cli/loadgen/options.ts';
import { filler } from '../../../cli/loadgen/own-loop.ts';

const turn = {
  firstByteMs: 50,
  turnMs: 200,
  heldMs: 10,
  promptTokens: 100,
  cachedTokens: 60,
  completionTokens: 30,
};

describe('the report of a load', () => {
  it('counts by the minute, and shares by the tokens', () => {
    const report = reportLoad({
      seconds: 30,
      turns: [turn, { ...turn, turnMs: 400, promptTokens: 300, cachedTokens: 0 }],
      runMs: [1_000],
      failures: new Map([['HTTP 503', 2]]),
    });
    expect(report).toMatchObject({
      runsPerMinute: 2,
      turnsPerMinute: 4,
      completionTokensPerSecond: 2,
      cachedShare: 0.15,
      turnMs: { p50: 200, p95: 400, max: 400 },
      failures: { 'HTTP 503': 2 },
    });
    expect(reportText(report)).toContain('2 × HTTP 503');
  });

  it('does not call unknown what is none, nor none what is unknown', () => {
    const unknown = { ...turn, cachedTokens: null, heldMs: null };
    const report = reportLoad({ seconds: 10, turns: [unknown], runMs: [], failures: new Map() });
    expect(report).toMatchObject({ cachedShare: null, heldMs: { p50: null }, runMs: { max: null } });
    expect(reportText(report)).toMatch(/do not say what was cached\nno failure$/);
  });

  it('has quantiles that are values seen', () => {
    expect(quantiles([5, 1, 4, 2, 3])).toEqual({ p50: 3, p95: 5, max: 5 });
    expect(quantiles([])).toEqual({ p50: null, p95: null, max: null });
  });
});

describe('the words of a load', () => {
  it.each([
    ['90', 90_000],
    ['60s', 60_000],
    ['1.5m', 90_000],
    ['250ms', 250],
    ['1h', 3_600_000],
  ])('%s is a time', (text, ms) => expect(parseDuration('--duration', text)).toBe(ms));

  it.each(['', 'soon', '-5s', '5 days', '25h', 'NaN'])('%j is none', (text) =>
    expect(() => parseDuration('--duration', text)).toThrow(/--duration: got .*expected a time such as 60s/),
  );

  it('are whole numbers within bounds', () => {
    expect(wholeNumber('--agents', 8, 1, 1_000)).toBe(8);
    for (const value of [0, 1.5, 1_001, Number.NaN]) {
      expect(() => wholeNumber('--agents', value, 1, 1_000)).toThrow(CommandFault);
    }
  });
});

describe('prompts', () => {
  it('are the same for a seed, and begin otherwise for another: no cache of one serves another', () => {
    expect(filler(50, 3)).toBe(filler(50, 3));
    expect(filler(50, 3).slice(0, 8)).not.toBe(filler(50, 4).slice(0, 8));
    expect(filler(50, 3).split(' ').length).toBeGreaterThanOrEqual(50);
  });
});
