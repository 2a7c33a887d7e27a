/**
 * `npm run bench -- fanout [--quick]`: 16 sub-agents with a tool that takes 2 s, spawned together through MCP and
 * awaited in one call, against the same one after the other, and against bare loops on SGLang's router.
 */
import { loadavg } from 'node:os';
import { closeInReverse } from '../../cli/close-in-reverse.ts';
import { bar, publish, spreadBar, type Bar } from '../bars.ts';
import { spreadText } from '../overhead/statistics.ts';
import type { StartRival } from '../rivals/rival.ts';
import { spreadOf, type Spread } from '../sim/statistics.ts';
import { alignedTable } from '../sim/table.ts';
import { makeWorkDir, toolsDir, withoutSettings } from '../site/work-dir.ts';
import { startBareSide, startFermataSide, type Side } from '../sub-agents/sides.ts';
import { measureFanout, type FanoutRepeat } from './measure.ts';
import { limits, planOf, type FanoutPlan } from './plan.ts';

const seed = 2_001;

export interface FanoutRun {
  readonly repeats: readonly FanoutRepeat[];
  readonly versions: Readonly<Record<string, string>>;
}

/** Measures and gives what was found; prints only progress. */
export async function runFanout(
  plan: FanoutPlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
  startRouter?: StartRival,
): Promise<FanoutRun> {
  const workDir = await makeWorkDir('fanout');
  const sides: Side[] = [];
  try {
    const site = { workDir: workDir.path, toolsDir, environment: withoutSettings(environment), progress };
    const sidePlan = { scenario: plan.scenario, seed, tool: 'wait' } as const;
    const fermata = await startFermataSide(sidePlan, site);
    sides.push(fermata);
    const bare = await startBareSide(sidePlan, site, startRouter);
    sides.push(bare);
    const repeats = await measureFanout(fermata, bare, plan, seed, progress);
    return { repeats, versions: bare.version === null ? {} : { [bare.name]: bare.version } };
  } finally {
    await closeInReverse(sides);
    await workDir.close();
  }
}

const over = (repeats: readonly FanoutRepeat[], of: (one: FanoutRepeat['seconds']) => number): Spread =>
  spreadOf(repeats.map(({ seconds }) => of(seconds)));

export function fanoutBars(repeats: readonly FanoutRepeat[]): readonly Bar[] {
  return [
    spreadBar(
      'fanout times faster than one after the other',
      over(repeats, ({ sequential, together }) => sequential / together),
      '>=',
      limits.overSequential,
    ),
    spreadBar(
      'fanout time over bare loops on the SGLang router',
      over(repeats, ({ together, bare }) => together / bare),
      '<=',
      limits.overBare,
    ),
    bar(
      'fanout runs failed',
      repeats.reduce((sum, { faults }) => sum + faults.length, 0),
      '=',
      0,
    ),
  ];
}

export function fanoutTable(repeats: readonly FanoutRepeat[], plan: FanoutPlan): string {
  const row = (title: string, values: readonly number[]): string[] => [
    title,
    spreadText(spreadOf(values), 2),
  ];
  const scaled = plan.sequentialRuns === plan.width ? '' : ` (${plan.sequentialRuns} of them, scaled up)`;
  return [
    alignedTable([
      [`${plan.width} runs, seconds`, 'median (lowest..highest)'],
      row(
        'together, through MCP',
        repeats.map(({ seconds }) => seconds.together),
      ),
      row(
        '  of that until all were spawned',
        repeats.map(({ spawnedSeconds }) => spawnedSeconds),
      ),
      row(
        'bare loops on the SGLang router',
        repeats.map(({ seconds }) => seconds.bare),
      ),
      row(
        `one after the other${scaled}`,
        repeats.map(({ seconds }) => seconds.sequential),
      ),
      row(
        'one of them alone',
        repeats.flatMap(({ aloneSeconds }) => aloneSeconds),
      ),
    ]),
    ...new Set(repeats.flatMap(({ faults }) => faults.map((fault) => `failed: ${fault}`))),
  ].join('\n');
}

/** @returns the exit code. */
export async function runFanoutBench(quick: boolean): Promise<0 | 1> {
  const startedMs = performance.now();
  const before = loadavg();
  const plan = planOf(quick);
  const { repeats, versions } = await runFanout(plan, process.env, (line) =>
    process.stderr.write(`${line}\n`),
  );
  const after = loadavg();
  process.stdout.write(
    `\n${plan.scenario.about}\n${fanoutTable(repeats, plan)}\n\nMedian of ${plan.repeats} repeats (lowest..highest). Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n\n`,
  );
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish('fanout', fanoutBars(repeats), {
    packages: versions,
    details: { quick, plan, seconds, loadAverage: { before, after }, repeats },
  });
}
