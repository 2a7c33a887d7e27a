/**
 * `npm run bench -- long-runs [--quick]`: a run of 2,500 turns, one with 200 tool results of 40 KB and one
 * whose tool answers with 3 MB, on the embedded stack over an engine and tools that take no time. `--quick`
 * shortens the first to 500 turns, which are two workflow executions, and the second to 60 results.
 */
import { bar, publish, type Bar } from '../bars.ts';
import { closeWhenInterrupted } from '../site/end-with-this-process.ts';
import { growthOf, type Execution } from './chain.ts';
import { runLong, type LongRun, type LongRunPlan } from './runs.ts';
import { startSite } from './site.ts';

const limitMs = 20 * 60_000;

/** Temporal refuses a workflow's input over 2 MiB. */
const handOverLimit = 2_000_000;
/** Temporal ends a workflow whose history has more. */
const historyEventsLimit = 51_200;
const historyBytesLimit = 50_000_000;

interface Measured {
  readonly manyTurns: LongRun;
  readonly largeResults: LongRun;
  readonly hugeResult: LongRun;
}

interface Plans {
  readonly manyTurns: LongRunPlan;
  readonly largeResults: LongRunPlan;
  readonly hugeResult: LongRunPlan;
}

function plansOf(quick: boolean): Plans {
  const turns = quick ? 500 : 2_500;
  return {
    manyTurns: { calls: turns - 1, tool: 'lookup', arguments: { topic: 'the harbour of an old town' } },
    largeResults: { calls: quick ? 60 : 200, tool: 'long_text', arguments: { bytes: 40_000 } },
    hugeResult: { calls: 1, tool: 'long_text', arguments: { bytes: 3_000_000 } },
  };
}

/** @returns the exit code. */
export async function runLongRuns(quick: boolean): Promise<0 | 1> {
  const plans = plansOf(quick);
  const progress = (line: string): void => void process.stderr.write(`${line}\n`);
  const starting = startSite(progress);
  closeWhenInterrupted(starting);
  const site = await starting;
  try {
    const measure = async (name: keyof Plans): Promise<LongRun> => {
      progress(`${name} ...`);
      const run = await runLong(site, plans[name], limitMs);
      progress(`${name}: ${run.status}, ${run.turns} turns in ${run.seconds.toFixed(1)} s`);
      return run;
    };
    const measured = {
      hugeResult: await measure('hugeResult'),
      largeResults: await measure('largeResults'),
      manyTurns: await measure('manyTurns'),
    };
    return await publish('long-runs', barsOf(plans, measured), { details: detailsOf(measured, quick) });
  } finally {
    await site.close();
  }
}

function barsOf(plans: Plans, { manyTurns, largeResults, hugeResult }: Measured): Bar[] {
  const executions = [manyTurns, largeResults, hugeResult].flatMap(({ chain }) => chain);
  const most = (value: (one: Execution) => number): number => Math.max(...executions.map(value));
  const turns = plans.manyTurns.calls + 1;
  const longest = hugeResult.transcript.map((message) =>
    message.role === 'tool' ? Buffer.byteLength(message.content) : 0,
  );
  return [
    bar(`${turns} turns, completed`, manyTurns.status === 'Completed' ? 1 : 0, '=', 1),
    bar(`${turns} turns, turns counted`, manyTurns.turns, '=', turns),
    bar(`${turns} turns, tool calls counted`, manyTurns.toolCalls, '=', turns - 1),
    bar(`${turns} turns, turns in the histories`, turnsIn(manyTurns), '=', turns),
    bar(
      `${turns} turns, history bytes a turn, second half over first half`,
      growthOf(manyTurns.chain).perTurn,
      '<=',
      1.1,
    ),
    bar('results of 40 KB, completed', largeResults.status === 'Completed' ? 1 : 0, '=', 1),
    bar('results of 40 KB, tool calls', largeResults.toolCalls, '=', plans.largeResults.calls),
    bar('results of 40 KB, failed tool calls', largeResults.failedToolCalls, '=', 0),
    bar('a result of 3 MB, completed', hugeResult.status === 'Completed' ? 1 : 0, '=', 1),
    bar('a result of 3 MB, seconds', hugeResult.seconds, '<=', 10),
    bar('a result of 3 MB, bytes the model gets', Math.max(...longest), '<=', 50_000),
    bar(
      'largest hand-over bytes',
      most((one) => one.inputBytes),
      '<=',
      handOverLimit,
    ),
    bar(
      'most events of one history',
      most((one) => one.events),
      '<=',
      historyEventsLimit / 4,
    ),
    bar(
      'most bytes of one history',
      most((one) => one.historyBytes),
      '<=',
      historyBytesLimit / 4,
    ),
    bar(
      'failed workflow tasks',
      executions.reduce((sum, one) => sum + one.failedTasks, 0),
      '=',
      0,
    ),
  ];
}

function turnsIn({ chain }: LongRun): number {
  return chain.reduce((sum, { turns }) => sum + turns, 0);
}

function detailsOf(measured: Measured, quick: boolean): Record<string, unknown> {
  const runs = Object.entries(measured).map(([name, { transcript, ...run }]: [string, LongRun]) => [
    name,
    {
      ...run,
      growth: growthOf(run.chain),
      transcriptBytes: Buffer.byteLength(JSON.stringify(transcript)),
      messages: transcript.length,
    },
  ]);
  return { quick, ...Object.fromEntries(runs) };
}
