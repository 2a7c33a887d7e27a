/**
 * `npm run bench -- all [--quick] [--only=...]`: every benchmark in turn, each a process of its own with a share
 * of the time, and one table of all bars at the end, also in `bench/results/all.md`. One that cannot start is a
 * row that says so. Exits 1 if a bar is missed.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { arch, cpus, release, totalmem, type } from 'node:os';
import { join, resolve } from 'node:path';
import { currentContext, publish, reportOf } from '../bars.ts';
import { commandOf, limitOf, type Entry } from './plan.ts';
import { runEntry, type EntryOutcome, type EntryProcess } from './run-entry.ts';
import { barsOf, markdownTable, type Machine } from './table.ts';

const root = resolve(import.meta.dirname, '..', '..');
const entryPoints = { bench: 'bench/main.ts', sim: 'bench/sim/main.ts' } as const;

export interface AllOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly resultsDir?: string;
  readonly progress: (line: string) => void;
  readonly print: (text: string) => void;
  /** How an entry is started; absent: as its command says. */
  readonly processOf?: (entry: Entry) => Pick<EntryProcess, 'command' | 'args'>;
}

function asItsCommand({ script, words }: Entry): Pick<EntryProcess, 'command' | 'args'> {
  return {
    command: process.execPath,
    args: ['--import', import.meta.resolve('tsx'), join(root, entryPoints[script]), ...words],
  };
}

/** @returns the exit code. */
export async function runAll(plan: readonly Entry[], options: AllOptions): Promise<0 | 1> {
  const resultsDir = options.resultsDir ?? join(root, 'bench', 'results');
  await mkdir(resultsDir, { recursive: true });
  const startedMs = performance.now();
  const outcomes: EntryOutcome[] = [];
  for (const [index, entry] of plan.entries()) {
    const limitMs = limitOf(plan, index, performance.now() - startedMs);
    options.progress(
      `${index + 1} of ${plan.length}: ${commandOf(entry)} (at most ${(limitMs / 1_000).toFixed(0)} s) ...`,
    );
    const outcome = await runEntry({
      name: entry.name,
      ...(options.processOf ?? asItsCommand)(entry),
      cwd: root,
      environment: options.environment,
      limitMs,
      resultsDir,
    });
    outcomes.push(outcome);
    options.progress(`  ${verdictOf(outcome)}`);
  }
  const context = await currentContext();
  const table = markdownTable(plan, outcomes, {
    machine: thisMachine(),
    date: context.date.slice(0, 16).replace('T', ' '),
    node: context.node,
    versions: rivalVersions(outcomes, context.packages),
    minutes: (performance.now() - startedMs) / 60_000,
  });
  options.print(`${table}\n`);
  const code = await publish('all', outcomes.flatMap(barsOf), {
    directory: resultsDir,
    print: () => {},
    packages: rivalVersions(outcomes, context.packages),
    details: { outcomes: outcomes.map(({ name, seconds, fault }) => ({ name, seconds, fault })) },
  });
  // In place of the plain one: it says which command each row is of.
  await writeFile(join(resultsDir, 'all.md'), table);
  return code;
}

function verdictOf(outcome: EntryOutcome): string {
  if (outcome.fault !== null) return outcome.fault;
  const { bars } = reportOf(outcome.name, barsOf(outcome), {
    node: '',
    date: '',
    platform: '',
    cpus: 0,
    packages: {},
  });
  const missed = bars.filter(({ ok }) => !ok).length;
  return `${outcome.seconds.toFixed(0)} s, ${bars.length} bars, ${missed} missed`;
}

/** Versions that the results name beside the project's own packages. */
function rivalVersions(
  outcomes: readonly EntryOutcome[],
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const all = outcomes.flatMap(({ report }) => Object.entries(report?.context.packages ?? {}));
  return Object.fromEntries(all.filter(([name]) => !Object.hasOwn(own, name)));
}

function thisMachine(): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? 'an unknown processor',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()} ${arch()}`,
  };
}
