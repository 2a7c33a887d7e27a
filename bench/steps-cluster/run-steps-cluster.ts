/**
 * `npm run bench -- steps-cluster [--quick]`: the same as `steps`, on a full Temporal server on PostgreSQL that it
 * starts on this machine: once as such a server comes, and once with the settings of dynamic configuration that
 * docs/guides/temporal.md advises.
 */
import { loadavg } from 'node:os';
import { startCluster } from '../../scripts/start-cluster.ts';
import { bar, publish, type Bar } from '../bars.ts';
import { spreadOf } from '../sim/statistics.ts';
import { planOf, type Plan } from '../steps/plan.ts';
import { measureSteps } from '../steps/run-steps.ts';
import { stepsBars, stepsTable, type Repeat } from '../steps/summary.ts';

const advised = {
  'history.transferProcessorMaxPollRPS': '2000',
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
} as const;

/** On two cores which the database, its disk, the server and all of fermata share. */
const limits = { addedMsPerStep: 250, stepsPerSecond: 10 } as const;

/** @returns the exit code. */
export async function runStepsOnCluster(quick: boolean): Promise<0 | 1> {
  const plan = { ...planOf(quick), ...(quick ? { repeats: 1 } : {}) };
  const before = loadavg();
  const plain = await measureOn({}, plan);
  const tuned = await measureOn(advised, plan);
  for (const [title, repeats] of [
    ['a server as it comes', plain],
    [
      `with ${Object.entries(advised)
        .map(([name, value]) => `${name}=${value}`)
        .join(', ')}`,
      tuned,
    ],
  ] as const) {
    process.stdout.write(`\n${title}\n${stepsTable(repeats)}\n`);
  }
  return await publish('steps-cluster', [...barsOf('as it comes', plain), ...barsOf('advised', tuned)], {
    details: { quick, plan, advised, loadAverage: { before, after: loadavg() }, plain, tuned },
  });
}

async function measureOn(
  dynamicConfig: Readonly<Record<string, string>>,
  plan: Plan,
): Promise<readonly Repeat[]> {
  const progress = (line: string): void => void process.stderr.write(`${line}\n`);
  const running = await startCluster(progress, dynamicConfig);
  try {
    return await measureSteps(plan, process.env, progress, running.cluster.address);
  } finally {
    await running.close();
  }
}

/** The two that a server of another kind changes. */
function barsOf(name: string, repeats: readonly Repeat[]): readonly Bar[] {
  const [added, together] = stepsBars(repeats);
  const perSecond = spreadOf(repeats.map((repeat) => repeat.together?.stepsPerSecond ?? null));
  return [
    bar(`${name} added p50 ms`, added?.value ?? null, '<=', limits.addedMsPerStep, added?.spread),
    bar(
      `${name} steps per second of 100 runs`,
      together?.value ?? null,
      '>=',
      limits.stepsPerSecond,
      perSecond,
    ),
  ];
}
