/**
 * Bars: what every command that measures against a limit prints, writes and exits with. One line a bar,
 * `bar <name>: <value> (<op> <limit>) ok|missed`, the same in `bench/results/NAME.json` beside what one
 * must know to read it and in `NAME.md` as a table, and exit code 1 if one is missed. This file measures
 * nothing itself.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { Spread } from './sim/statistics.ts';

export type Operator = '>=' | '<=' | '=';

export interface Bar {
  /** Says what is measured, with its unit last where it has one: `overhead p50 ms`. One line, no colon. */
  readonly name: string;
  /** null: it could not be measured, which counts as missed. */
  readonly value: number | null;
  readonly op: Operator;
  readonly limit: number;
  /** Of the repeats that `value` is the middle of; absent: it was measured once. */
  readonly spread?: Spread;
}

/** What a result needs beside its numbers to be compared with another one. */
export interface Context {
  readonly node: string;
  /** ISO 8601. */
  readonly date: string;
  readonly platform: string;
  readonly cpus: number;
  /** Exact version by package name. */
  readonly packages: Readonly<Record<string, string>>;
}

export interface Report {
  readonly name: string;
  readonly ok: boolean;
  readonly bars: readonly (Bar & { readonly ok: boolean })[];
  readonly context: Context;
  /** Whatever else the command found: seeds, spread, losses. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** @throws RangeError when the name could not stand in its line, or the limit is not a number. */
export function bar(name: string, value: number | null, op: Operator, limit: number, spread?: Spread): Bar {
  if (!/^[^\s:]([^\n:]*[^\s:])?$/.test(name)) {
    throw new RangeError(`'${name}' cannot name a bar: one line without a colon, no blank at its ends`);
  }
  if (!Number.isFinite(limit)) throw new RangeError(`bar ${name}: its limit is ${limit}, not a number`);
  return { name, value, op, limit, ...(spread === undefined ? {} : { spread }) };
}

/** The middle of several repeats against a limit. @throws RangeError as {@link bar}. */
export function spreadBar(name: string, spread: Spread, op: Operator, limit: number): Bar {
  return bar(name, spread.median, op, limit, spread);
}

function compare(value: number, op: Operator, limit: number): boolean {
  switch (op) {
    case '>=':
      return value >= limit;
    case '<=':
      return value <= limit;
    case '=':
      return value === limit;
  }
}

/** Whether the bar is met; what was not measured, or is not a finite number, meets none. */
export function isMet({ value, op, limit }: Bar): boolean {
  return value !== null && Number.isFinite(value) && compare(value, op, limit);
}

/** Four significant digits, or all of them where the short form would contradict the verdict. */
function printedValue({ value, op, limit }: Bar): string {
  if (value === null) return 'not measured';
  if (!Number.isFinite(value) || Number.isInteger(value)) return String(value);
  const short = Number(value.toPrecision(4));
  return String(compare(short, op, limit) === compare(value, op, limit) ? short : value);
}

export function barLine(one: Bar): string {
  return `bar ${one.name}: ${printedValue(one)} (${one.op} ${one.limit}) ${isMet(one) ? 'ok' : 'missed'}`;
}

/** 0 when every bar is met; 1 otherwise, and when there is none: nothing was shown. */
export function exitCodeOf(bars: readonly Bar[]): 0 | 1 {
  return bars.length > 0 && bars.every(isMet) ? 0 : 1;
}

export function reportOf(
  name: string,
  bars: readonly Bar[],
  context: Context,
  details: Report['details'] = {},
): Report {
  return {
    name,
    ok: exitCodeOf(bars) === 0,
    // JSON has no NaN and no infinity: such a value was not measured.
    bars: bars.map((one) => ({
      ...one,
      value: Number.isFinite(one.value) ? one.value : null,
      ok: isMet(one),
    })),
    context,
    details,
  };
}

/** What a bar is measured at, in a cell of a table: its value, its spread, its limit and the verdict. */
export function barCells(one: Bar): readonly [value: string, spread: string, limit: string, verdict: string] {
  const { lowest = null, highest = null } = one.spread ?? {};
  const short = (value: number): string =>
    String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
  return [
    printedValue(one),
    lowest === null || highest === null ? '' : `${short(lowest)}..${short(highest)}`,
    `${one.op} ${one.limit}`,
    isMet(one) ? 'ok' : '**missed**',
  ];
}

/** A row of a Markdown table. */
export function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}

/** The bars of one report for people. */
export function markdownOf({ name, bars, context }: Report): string {
  return [
    `${name}: ${context.date.slice(0, 16).replace('T', ' ')}, ${context.cpus} cores, ${context.platform}, Node ${context.node}`,
    '',
    '| bar | value | lowest..highest | limit | |',
    '|---|---:|---:|---:|---|',
    ...bars.map((one) => markdownRow([one.name, ...barCells(one)])),
    '',
  ].join('\n');
}

const manifestSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

/** This process and the exact versions in the project's package.json; `packages` are added to them. */
export async function currentContext(packages: Context['packages'] = {}): Promise<Context> {
  const text = await readFile(resolve(import.meta.dirname, '..', 'package.json'), 'utf8');
  const manifest = manifestSchema.parse(JSON.parse(text));
  return {
    node: process.version,
    date: new Date().toISOString(),
    platform: `${process.platform}-${process.arch}`,
    cpus: cpus().length,
    packages: { ...manifest.dependencies, ...manifest.devDependencies, ...packages },
  };
}

export interface PublishOptions {
  readonly details?: Report['details'];
  /** Versions of what was measured beside the project's own packages. */
  readonly packages?: Context['packages'];
  /** Absent: `bench/results`. */
  readonly directory?: string;
  /** Absent: standard output. */
  readonly print?: (line: string) => void;
}

/**
 * Prints one line a bar and writes `NAME.json` and `NAME.md`; the caller exits with what it resolves to.
 * @throws RangeError when `name` is not a plain file name, or two bars share a name.
 */
export async function publish(
  name: string,
  bars: readonly Bar[],
  options: PublishOptions = {},
): Promise<0 | 1> {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name)) {
    throw new RangeError(`'${name}' cannot name a result: small letters, digits and '-' only`);
  }
  const names = bars.map((one) => one.name);
  const twin = names.find((one, index) => names.indexOf(one) !== index);
  if (twin !== undefined) throw new RangeError(`two bars are named '${twin}'`);
  const print = options.print ?? ((line: string) => process.stdout.write(`${line}\n`));
  for (const one of bars) print(barLine(one));
  const directory = options.directory ?? resolve(import.meta.dirname, 'results');
  await mkdir(directory, { recursive: true });
  const report = reportOf(name, bars, await currentContext(options.packages), options.details);
  await writeFile(join(directory, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(directory, `${name}.md`), markdownOf(report));
  return exitCodeOf(bars);
}
