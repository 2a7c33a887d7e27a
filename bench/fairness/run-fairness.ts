/**
 * `npm run bench -- fairness [--quick]`: in real time, over the proxy. How long a light caller waits beside one
 * with ten times its load, over its wait alone; and how evenly callers that always wait share the tokens, at
 * what cost in cached ones, beside SGLang's router.
 */
import { loadavg } from 'node:os';
import { publish } from '../bars.ts';
import { seedsOf } from '../flood/plan.ts';
import { writePlot } from '../plots/write-plot.ts';
import { makeWorkDir, toolsDir, withoutSettings } from '../site/work-dir.ts';
import { runLanes, type LaneFound, type LanePlan, type Times } from './lane.ts';
import { planOf, shareLanes, waitLanes, type FairnessPlan } from './plan.ts';
import {
  fairnessBars,
  fairnessChart,
  fairnessTable,
  shareOf,
  waitOf,
  type ShareFound,
  type WaitFound,
} from './summary.ts';

export interface FairnessRun {
  readonly waits: readonly WaitFound[];
  readonly shares: readonly ShareFound[];
  readonly versions: Readonly<Record<string, string>>;
  /** Replies of the engines that were not what their scripts say. */
  readonly wrongReplies: number;
}

/** Measures and gives what was found; prints only progress. */
export async function runFairness(
  plan: FairnessPlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
): Promise<FairnessRun> {
  const workDir = await makeWorkDir('fairness');
  const site = { workDir: workDir.path, toolsDir, environment: withoutSettings(environment), progress };
  const seeds = seedsOf(plan.repeats);
  const ask = async (
    what: string,
    lanes: readonly LanePlan[],
    times: Times,
  ): Promise<readonly LaneFound[]> => {
    const found: LaneFound[] = [];
    for (let first = 0; first < seeds.length; first += plan.lanes) {
      const together = seeds.slice(first, first + plan.lanes);
      progress(`${what}, repeats ${first + 1} to ${first + together.length} of ${plan.repeats}`);
      found.push(...(await runLanes(lanes, together, times, site)));
    }
    return found;
  };
  try {
    const waits = await ask('a light caller beside a heavy one', waitLanes(), plan.beside);
    const shares = await ask('four callers that always wait', shareLanes(), plan.shares);
    return {
      waits: waits.map(waitOf),
      shares: shares.map(shareOf),
      versions: Object.fromEntries(
        shares.flatMap(({ name, version }) => (version === null ? [] : [[name, version] as const])),
      ),
      wrongReplies: [...waits, ...shares].reduce((sum, { wrongReplies }) => sum + wrongReplies, 0),
    };
  } finally {
    await workDir.close();
  }
}

/** @returns the exit code. */
export async function runFairnessBench(quick: boolean): Promise<0 | 1> {
  const startedMs = performance.now();
  const before = loadavg();
  const plan = planOf(quick);
  const { waits, shares, versions, wrongReplies } = await runFairness(plan, process.env, (line) =>
    process.stderr.write(`${line}\n`),
  );
  const after = loadavg();
  process.stdout.write(
    `\n${fairnessTable(waits, shares)}\n\nMedian of ${plan.repeats} repeats (lowest..highest), the lanes of a repeat at the same time. Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n\n`,
  );
  await writePlot('fairness', fairnessChart(waits, new Date().toISOString().slice(0, 10)));
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return await publish('fairness', fairnessBars(waits, shares), {
    packages: versions,
    details: { quick, plan, seconds, loadAverage: { before, after }, waits, shares, wrongReplies },
  });
}
