/**
 * One benchmark as a process of its own: its output in a log, its result read from the file it writes. However
 * it ends, the others go on.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

export interface EntryProcess {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly limitMs: number;
  /** Where it writes `NAME.json`, and its log goes: `all-NAME.log`. */
  readonly resultsDir: string;
}

const spreadSchema = z.looseObject({
  median: z.number().nullable(),
  lowest: z.number().nullable(),
  highest: z.number().nullable(),
});

const reportSchema = z.looseObject({
  bars: z.array(
    z.looseObject({
      name: z.string(),
      value: z.number().nullable(),
      op: z.enum(['>=', '<=', '=']),
      limit: z.number(),
      spread: spreadSchema.optional(),
    }),
  ),
  context: z.looseObject({
    date: z.string(),
    node: z.string(),
    packages: z.record(z.string(), z.string()),
  }),
});
export type EntryReport = z.infer<typeof reportSchema>;

export interface EntryOutcome {
  readonly name: string;
  readonly seconds: number;
  /** null: it wrote none. */
  readonly report: EntryReport | null;
  /** Why there is no report; null: there is one. */
  readonly fault: string | null;
}

/** From SIGTERM to SIGKILL. */
const stopTimeoutMs = 20_000;

export async function runEntry(entry: EntryProcess): Promise<EntryOutcome> {
  const startedAt = new Date();
  const startedMs = performance.now();
  const logPath = join(entry.resultsDir, `all-${entry.name}.log`);
  const ended = await runProcess(entry, logPath);
  const seconds = (performance.now() - startedMs) / 1_000;
  const report = await readReport(join(entry.resultsDir, `${entry.name}.json`), startedAt);
  if (ended.timedOut) {
    const limit = Math.round(entry.limitMs / 1_000);
    return { name: entry.name, seconds, report: null, fault: `stopped after its ${limit} s` };
  }
  if (report !== null) return { name: entry.name, seconds, report, fault: null };
  return { name: entry.name, seconds, report, fault: await lastLine(logPath, ended.code) };
}

async function runProcess(
  { command, args, cwd, environment, limitMs }: EntryProcess,
  logPath: string,
): Promise<{ readonly code: number | null; readonly timedOut: boolean }> {
  const log = createWriteStream(logPath);
  const child = spawn(command, [...args], {
    cwd,
    env: { ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  let timedOut = false;
  const killers: NodeJS.Timeout[] = [];
  const stop = (): void => {
    timedOut = true;
    child.kill('SIGTERM');
    killers.push(setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs));
  };
  killers.push(setTimeout(stop, limitMs));
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      log.write(`${error.message}\n`);
      resolve(null);
    });
    child.once('exit', resolve);
  });
  for (const timer of killers) clearTimeout(timer);
  log.end();
  await once(log, 'close');
  return { code, timedOut };
}

/** @returns null when there is none, or it is older than this run. */
async function readReport(path: string, startedAt: Date): Promise<EntryReport | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  const report = reportSchema.safeParse(JSON.parse(text));
  if (!report.success || new Date(report.data.context.date) < startedAt) return null;
  return report.data;
}

async function lastLine(path: string, code: number | null): Promise<string> {
  const lines = (await readFile(path, 'utf8'))
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^at |^Node\.js v/.test(line));
  const why = lines.findLast((line) => /error|fault|could not|cannot|usage/i.test(line)) ?? lines.at(-1);
  return `ended with ${code ?? 'no exit code'} and no result: ${(why ?? 'it printed nothing').slice(0, 200)}`;
}
