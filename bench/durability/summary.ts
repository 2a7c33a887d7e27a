/** The tables and the bars of the durability bench. Pure. */
import { bar, type Bar } from '../bars.ts';
import type { Aftermath, Fates, SlowStop } from './aftermath.ts';
import { leastKills } from './kill-plan.ts';
import type { DurabilityOptions } from './options.ts';
import type { Observations } from './recorder.ts';
import { runKinds } from './workload.ts';
import type { Verdict } from './verdict.ts';

/** Seconds within which runs go on after their worker was killed. */
const goOnLimitSeconds = 15;

export function durabilityBars(
  { kills: plannedKills, only }: Pick<DurabilityOptions, 'kills' | 'only'>,
  verdict: Verdict,
  aftermath: readonly Aftermath[],
): readonly Bar[] {
  const slowestMs = aftermath.find(({ part }) => part === 'worker')?.goOnMs.slowest ?? null;
  const fewest = Math.min(...aftermath.map(({ kills }) => kills));
  return [
    bar('kills', sum(aftermath.map(({ kills }) => kills)), '>=', plannedKills),
    ...(only === null
      ? [bar('kills of the part with the fewest', fewest, '>=', leastKills(plannedKills))]
      : []),
    bar('runs lost', verdict.lost.length + verdict.toolsLeftOut.length, '=', 0),
    bar('turns doubled in transcripts', verdict.turnsDoubled, '=', 0),
    bar('tool calls doubled', verdict.callsDoubled + verdict.effectsDoubled, '=', 0),
    bar('handles that did not settle', verdict.unsettled.length, '=', 0),
    ...(only === null || only === 'worker'
      ? [
          bar(
            'after the death of the worker alone runs go on, slowest s',
            slowestMs === null ? null : slowestMs / 1_000,
            '<=',
            goOnLimitSeconds,
          ),
        ]
      : []),
  ];
}

const columns = [
  'killed',
  'times',
  'down s',
  'turns: on/again',
  'tool calls: on/again/unknown',
  'client calls: on/again',
  'runs stopped',
  'went on, median s',
  'slowest s alone (of)',
  'of several',
];

export function aftermathTable(aftermath: readonly Aftermath[]): readonly string[] {
  const rows = aftermath.map((one) => [
    one.part,
    String(one.kills),
    seconds(one.downMs),
    two(one.turns),
    `${two(one.calls)}/${one.calls.unknown}`,
    two(one.clientCalls),
    String(one.stopped),
    seconds(one.goOnMs.median),
    `${seconds(one.goOnMs.slowest)} (${one.goOnMs.alone})`,
    seconds(one.goOnMs.slowestOfSeveral),
  ]);
  return alignColumns([columns, ...rows]);
}

export function runsTable({ runs }: Observations): readonly string[] {
  const rows = runKinds.map((kind) => {
    const ofKind = runs.filter((run) => run.plan.kind === kind);
    const of = (status: string): string => String(ofKind.filter((run) => run.status === status).length);
    return [kind, String(ofKind.length), of('Completed'), of('Failed'), of('Cancelled')];
  });
  return alignColumns([['runs', 'started', 'completed', 'failed', 'cancelled'], ...rows]);
}

/** The runs that stood still longest, and what else had died in the time before. */
export function stopLines(stops: readonly SlowStop[]): readonly string[] {
  return stops.map(({ run, kill, goOnMs, alone, before }) => {
    const others = before.map(({ part, secondsBefore }) => `${part} ${secondsBefore.toFixed(1)} s before`);
    const where = `${run.handle ?? '-'} (${run.plan.kind}) after ${kill.part} at ${new Date(kill.atMs).toISOString()}`;
    return `${seconds(goOnMs)} s ${alone ? 'alone' : 'of several'}: ${where}; ${others.join(', ') || 'nothing before'}`;
  });
}

/** What was asked of the world outside, in a few lines. */
export function countLines(verdict: Verdict): readonly string[] {
  return [
    `${verdict.turns} turns, asked of the engines ${verdict.turns + verdict.turnsAskedAgain} times`,
    `${verdict.onceCalls} calls of tools that must not be repeated, ${verdict.outcomesUnknown} answered with 'outcome unknown'`,
    `${verdict.repeatableCalls} calls of tools that may be repeated, repeated ${verdict.repeatedCalls} times`,
  ];
}

function two({ wentOn, retried }: Fates): string {
  return `${wentOn}/${retried}`;
}

function seconds(ms: number | null): string {
  return ms === null ? '-' : (ms / 1_000).toFixed(1);
}

function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  '),
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
