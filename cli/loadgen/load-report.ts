/** Adds up what the agents of a load saw. Pure. */
import { alignColumns, count, duration, plural } from '../output/text.ts';

export interface TurnSeen {
  readonly firstByteMs: number;
  readonly turnMs: number;
  /** Held by the scheduler; null: the answer does not say. */
  readonly heldMs: number | null;
  readonly promptTokens: number;
  readonly cachedTokens: number | null;
  readonly completionTokens: number;
}

export interface LoadSeen {
  readonly seconds: number;
  readonly turns: readonly TurnSeen[];
  /** Of runs that came to their end. */
  readonly runMs: readonly number[];
  /** How often, by what was said. */
  readonly failures: ReadonlyMap<string, number>;
}

export interface Quantiles {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly max: number | null;
}

export interface LoadReport {
  readonly seconds: number;
  readonly runs: number;
  readonly runsPerMinute: number;
  readonly turns: number;
  readonly turnsPerMinute: number;
  readonly completionTokensPerSecond: number;
  readonly runMs: Quantiles;
  readonly turnMs: Quantiles;
  readonly firstByteMs: Quantiles;
  readonly heldMs: Quantiles;
  /** Of prompt tokens, as the engines report; null: none does. */
  readonly cachedShare: number | null;
  readonly failures: Readonly<Record<string, number>>;
}

export function quantiles(values: readonly number[]): Quantiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number | null =>
    sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? null;
  return { p50: at(0.5), p95: at(0.95), max: sorted.at(-1) ?? null };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function reportLoad({ seconds, turns, runMs, failures }: LoadSeen): LoadReport {
  const told = turns.filter(({ cachedTokens }) => cachedTokens !== null);
  const perMinute = (value: number): number => (seconds === 0 ? 0 : (value / seconds) * 60);
  const prompts = sum(told.map(({ promptTokens }) => promptTokens));
  return {
    seconds,
    runs: runMs.length,
    runsPerMinute: perMinute(runMs.length),
    turns: turns.length,
    turnsPerMinute: perMinute(turns.length),
    completionTokensPerSecond: perMinute(sum(turns.map(({ completionTokens }) => completionTokens))) / 60,
    runMs: quantiles(runMs),
    turnMs: quantiles(turns.map(({ turnMs }) => turnMs)),
    firstByteMs: quantiles(turns.map(({ firstByteMs }) => firstByteMs)),
    heldMs: quantiles(turns.flatMap(({ heldMs }) => heldMs ?? [])),
    cachedShare: prompts === 0 ? null : sum(told.map(({ cachedTokens }) => cachedTokens ?? 0)) / prompts,
    failures: Object.fromEntries(failures),
  };
}

export function reportText(report: LoadReport): string {
  const row = (name: string, { p50, p95, max }: Quantiles): string[] => [name, ...[p50, p95, max].map(time)];
  const failures = Object.entries(report.failures).map(([words, times]) => `  ${times} × ${words}`);
  return [
    `${plural(report.runs, 'run')} and ${plural(report.turns, 'turn')} in ${duration(report.seconds * 1_000)}: ${report.runsPerMinute.toFixed(1)} runs/min, ${report.turnsPerMinute.toFixed(1)} turns/min, ${count(report.completionTokensPerSecond)} tokens/s`,
    '',
    ...alignColumns([
      ['', 'p50', 'p95', 'most'],
      row('a run', report.runMs),
      row('a turn', report.turnMs),
      row('first byte', report.firstByteMs),
      row('held', report.heldMs),
    ]),
    '',
    report.cachedShare === null
      ? 'the engines do not say what was cached'
      : `${(report.cachedShare * 100).toFixed(1)} % of the prompt tokens were cached`,
    ...(failures.length === 0 ? ['no failure'] : ['failures:', ...failures]),
  ].join('\n');
}

function time(ms: number | null): string {
  return ms === null ? '-' : duration(ms);
}
