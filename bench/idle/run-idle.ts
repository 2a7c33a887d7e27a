/**
 * `npm run bench -- idle [--quick]`: with nothing to wait for, does anything become slower through fermata? The
 * same runs directly and through it: runs a minute, the middle run and the middle turn, over direct.
 */
import { loadavg } from 'node:os';
import { bar, publish, spreadBar, type Bar } from '../bars.ts';
import { seedsOf } from '../flood/plan.ts';
import { ratioOver, spreadText } from '../overhead/statistics.ts';
import { spreadOf, type Spread } from '../sim/statistics.ts';
import { alignedTable } from '../sim/table.ts';
import { makeWorkDir, toolsDir, withoutSettings } from '../site/work-dir.ts';
import { idleArms, measureRepeat, type IdleArm, type IdleRepeat, type IdleWindow } from './measure.ts';
import { planOf, tolerance, type IdlePlan } from './plan.ts';

type Measure = 'runsPerMinute' | 'runP50Ms' | 'turnP50Ms' | 'firstByteP50Ms' | 'cachedShare';

/** Measures and gives what was found; prints only progress. */
export async function runIdle(
  plan: IdlePlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
): Promise<readonly IdleRepeat[]> {
  const workDir = await makeWorkDir('idle');
  try {
    const site = { workDir: workDir.path, toolsDir, environment: withoutSettings(environment), progress };
    const repeats: IdleRepeat[] = [];
    for (const [index, seed] of seedsOf(plan.repeats).entries()) {
      progress(`repeat ${index + 1} of ${plan.repeats}`);
      repeats.push(await measureRepeat(plan, seed, site));
    }
    return repeats;
  } finally {
    await workDir.close();
  }
}

function values(repeats: readonly IdleRepeat[], arm: IdleArm, measure: Measure): readonly (number | null)[] {
  return repeats.flatMap(({ windows }) =>
    windows.filter((window) => window.arm === arm).map((window: IdleWindow) => window[measure]),
  );
}

export function overDirect(repeats: readonly IdleRepeat[], measure: Measure): Spread {
  return ratioOver(values(repeats, 'fermata', measure), values(repeats, 'direct', measure));
}

export function idleBars(repeats: readonly IdleRepeat[]): readonly Bar[] {
  const compared = repeats.reduce((sum, one) => sum + one.compared, 0);
  const windows = repeats.flatMap((one) => one.windows);
  return [
    spreadBar('idle runs/min over direct', overDirect(repeats, 'runsPerMinute'), '>=', 1 - tolerance),
    spreadBar('idle run p50 over direct', overDirect(repeats, 'runP50Ms'), '<=', 1 + tolerance),
    spreadBar('idle turn p50 over direct', overDirect(repeats, 'turnP50Ms'), '<=', 1 + tolerance),
    bar(
      'idle replies wrong or lost',
      windows.reduce((sum, { failed, wrongReplies }) => sum + failed + wrongReplies, 0),
      '=',
      0,
    ),
    bar(
      'idle runs that were told something else',
      compared === 0 ? null : repeats.reduce((sum, { different }) => sum + different, 0),
      '=',
      0,
    ),
  ];
}

const columns: readonly { readonly title: string; readonly measure: Measure; readonly digits: number }[] = [
  { title: 'runs/min', measure: 'runsPerMinute', digits: 2 },
  { title: 'run p50 ms', measure: 'runP50Ms', digits: 0 },
  { title: 'turn p50 ms', measure: 'turnP50Ms', digits: 1 },
  { title: 'first byte p50 ms', measure: 'firstByteP50Ms', digits: 1 },
  { title: 'cached', measure: 'cachedShare', digits: 3 },
];

export function idleTable(repeats: readonly IdleRepeat[]): string {
  return alignedTable([
    ['', ...columns.map(({ title }) => title)],
    ...idleArms.map((arm) => [
      arm,
      ...columns.map(({ measure, digits }) => spreadText(spreadOf(values(repeats, arm, measure)), digits)),
    ]),
    ['over direct', ...columns.map(({ measure }) => spreadText(overDirect(repeats, measure), 3))],
  ]);
}

/** @returns the exit code. */
export async function runIdleBench(quick: boolean): Promise<0 | 1> {
  const startedMs = performance.now();
  const before = loadavg();
  const plan = planOf(quick);
  const repeats = await runIdle(plan, process.env, (line) => process.stderr.write(`${line}\n`));
  const after = loadavg();
  process.stdout.write(
    `\n${plan.scenario.about}\n${idleTable(repeats)}\n\nMedian of ${plan.repeats} repeats (lowest..highest), both arms at the same time. Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n\n`,
  );
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish('idle', idleBars(repeats), {
    details: { quick, plan, seconds, loadAverage: { before, after }, repeats },
  });
}
