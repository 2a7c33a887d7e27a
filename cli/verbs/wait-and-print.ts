/** Awaits runs with progress on the terminal, prints them, and settles the exit code. */
import { isFinal } from '../../contracts/run.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { approvalLines, runDetail } from '../output/run-text.ts';
import { count, plural } from '../output/text.ts';
import type { RunDetail } from '../server/api-client.ts';
import { awaitRuns, type Awaited } from '../server/await-runs.ts';
import type { Desk } from './verb.ts';

export interface WaitOptions {
  readonly mode: 'all' | 'any';
  readonly timeoutSeconds: number | null;
  /** Only the answer of the one run, as text. */
  readonly answerOnly: boolean;
}

export async function waitAndPrint(
  handles: readonly string[],
  { mode, timeoutSeconds, answerOnly }: WaitOptions,
  { api, printer, world }: Desk,
): Promise<ExitCode> {
  const awaited = await awaitRuns(api, {
    handles,
    mode,
    timeoutMs: timeoutSeconds === null ? null : timeoutSeconds * 1_000,
    onLook: (runs) => printer.progress(progressLine(runs, handles.length)),
    interrupted: world.interrupted,
  });
  printer.settle();
  const { runs, end } = awaited;
  const paint = printer.style;
  const result = runs[0]?.result ?? null;
  printer.answer(runs.length === 1 && handles.length === 1 ? runs[0] : { end, runs }, () =>
    answerOnly && result !== null
      ? result
      : runs.map((run) => runDetail(run, paint, world.nowMs())).join('\n\n'),
  );
  for (const line of adviceOf(awaited)) printer.note(line);
  if (printer.json && end === 'approval') {
    for (const run of runs) for (const line of approvalLines(run, paint)) printer.note(line);
  }
  return exitCodeOf(awaited);
}

export function progressLine(runs: readonly RunDetail[], total: number): string {
  const ended = runs.filter(({ status }) => isFinal(status)).length;
  const waiting = runs.filter(({ status }) => status === 'AwaitingApproval').length;
  const sum = (of: (run: RunDetail) => number): number => runs.reduce((all, run) => all + of(run), 0);
  const work = `${plural(
    sum(({ counters }) => counters.turns),
    'turn',
  )}, ${plural(
    sum(({ counters }) => counters.toolCalls),
    'tool call',
  )}, ${count(sum(({ counters }) => counters.promptTokens + counters.completionTokens))} tokens`;
  const phase = total === 1 ? (runs[0]?.phase ?? 'starting') : `${ended} of ${total} ended`;
  return `${phase}; ${work}${waiting === 0 ? '' : `; ${waiting} wait for approval`}`;
}

export function exitCodeOf({ end, runs }: Awaited): ExitCode {
  if (end === 'interrupted') return exitCodes.interrupted;
  if (end === 'approval') return exitCodes.approval;
  if (end === 'timeout') return exitCodes.timeout;
  return runs.some(({ status }) => status === 'Failed' || status === 'Cancelled')
    ? exitCodes.runFailed
    : exitCodes.ok;
}

function adviceOf({ end, runs }: Awaited): string[] {
  const open = runs.filter(({ status }) => !isFinal(status)).map(({ handle }) => handle);
  const again = `fermata await ${open.join(' ')}`;
  if (end === 'timeout') return [`time is up; nothing is lost: ${again}`];
  if (end === 'interrupted') return [`the runs go on: ${again}   or: fermata cancel ${open[0] ?? 'HANDLE'}`];
  return end === 'approval' ? [`nothing goes on until it is decided; then: ${again}`] : [];
}
