/** All bars of all benchmarks as one table for people, in Markdown. Pure. */
import { bar, barCells, markdownRow, type Bar } from '../bars.ts';
import { commandOf, type Entry } from './plan.ts';
import type { EntryOutcome } from './run-entry.ts';

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
}

/** Every bar under a name that says which benchmark it is of; a benchmark without a result is a missed one. */
export function barsOf({ name, report, fault }: EntryOutcome): readonly Bar[] {
  if (report === null || fault !== null) return [bar(`${name} gave a result`, null, '=', 1)];
  return report.bars.map((one) => {
    const full = one.name.startsWith(name.replace(/^sim-/, '')) ? one.name : `${name} ${one.name}`;
    const named = name.startsWith('sim-') && !full.startsWith('sim') ? `sim ${full}` : full;
    return bar(named, one.value, one.op, one.limit, one.spread);
  });
}

export interface TableFacts {
  readonly machine: Machine;
  readonly date: string;
  readonly node: string;
  /** Of what was measured against, by name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly minutes: number;
}

export function markdownTable(
  plan: readonly Entry[],
  outcomes: readonly EntryOutcome[],
  facts: TableFacts,
): string {
  const rows = outcomes.flatMap((outcome) => {
    const entry = plan.find(({ name }) => name === outcome.name);
    const command = entry === undefined ? '' : `\`${commandOf(entry)}\``;
    return barsOf(outcome).map((one) => rowOf(one, outcome, command));
  });
  const { machine } = facts;
  const versions = Object.entries(facts.versions)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, version]) => `${name} ${version}`);
  return [
    `${facts.date}, ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system}, Node ${facts.node}; ${facts.minutes.toFixed(0)} min in all.`,
    versions.length === 0 ? '' : `Measured against ${versions.join(', ')}.`,
    '',
    '| bar | value | lowest..highest | limit | | command |',
    '|---|---:|---:|---:|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function rowOf(one: Bar, { fault, seconds }: EntryOutcome, command: string): string {
  const [value, spread, limit, verdict] = barCells(one);
  const measured = fault === null ? [value, spread, limit] : [fault, '', ''];
  return markdownRow([one.name, ...measured, verdict, `${command} (${seconds.toFixed(0)} s)`]);
}
