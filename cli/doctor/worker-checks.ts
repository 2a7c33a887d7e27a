/**
 * Whether the workers that Temporal knows are those that its runs wait for: somebody polls the task queue, the
 * current build has workers, and no open run is pinned to a build without any (docs/deploys.md). Changes nothing.
 */
import type { Connection } from '@temporalio/client';
import type { DeploymentVersion } from '../../contracts/settings.ts';
import {
  isSameBuild,
  listBuilds,
  readPollers,
  stillThereMs,
  type Polled,
} from '../temporal/worker-versions.ts';
import { fault, ok, warning, type Finding } from './finding.ts';

export interface WorkerPlace {
  readonly namespace: string;
  readonly taskQueue: string;
  /** Of the settings that doctor runs with; null: none. */
  readonly deployment: DeploymentVersion | null;
}

export interface StrandedBuild {
  readonly version: DeploymentVersion;
  readonly openRuns: number;
}

const subject = 'workers';

export async function checkWorkers(
  connection: Connection,
  place: WorkerPlace,
  nowMs: number = Date.now(),
): Promise<readonly Finding[]> {
  const polled = await readPollers(connection, place, nowMs);
  const names = new Set(
    [...polled.builds, polled.current, place.deployment].flatMap((version) => version?.name ?? []),
  );
  const builds = await Promise.all(
    [...names].map(async (name) => await listBuilds(connection, place.namespace, name)),
  );
  const stranded = builds.flat().filter(({ version, status, openRuns }) => {
    const isAlone = !polled.builds.some((build) => isSameBuild(build, version));
    return status === 'draining' && openRuns > 0 && isAlone;
  });
  return judgeWorkers(place.taskQueue, polled, stranded);
}

/** Pure. */
export function judgeWorkers(
  taskQueue: string,
  polled: Polled,
  stranded: readonly StrandedBuild[],
): readonly Finding[] {
  const standing = stranded.map(({ version, openRuns }) =>
    fault(
      subject,
      `${openRuns} open ${openRuns === 1 ? 'run is' : 'runs are'} pinned to build ${version.buildId} of ${version.name}, which has no worker: they stand still`,
      'start workers of that build, or move its runs (docs/deploys.md, "A run of a build without workers")',
    ),
  );
  const newRuns = judgeNewRuns(taskQueue, polled);
  return newRuns.level === 'ok' && standing.length > 0 ? standing : [newRuns, ...standing];
}

function judgeNewRuns(taskQueue: string, { current, hasUnversioned, builds }: Polled): Finding {
  if (builds.length === 0 && !hasUnversioned) {
    return warning(
      subject,
      `none has asked for work on task queue '${taskQueue}' in the last ${stillThereMs / 1_000} s: runs wait`,
      'start one, or see that FERMATA_TASK_QUEUE is the same everywhere',
    );
  }
  const onQueue = `on task queue '${taskQueue}'`;
  if (current === null) {
    if (hasUnversioned) return ok(subject, `unversioned ones take work ${onQueue}`);
    const named = builds.map(({ name, buildId }) => `${buildId} of ${name}`).join(', ');
    const says = `those of build ${named} ask for work ${onQueue}, but no build is current: new runs wait`;
    return fault(subject, says, setCurrent(builds[0]));
  }
  const what = `build ${current.buildId} of ${current.name} is current`;
  if (builds.some((build) => isSameBuild(build, current)))
    return ok(subject, `${what} and has workers ${onQueue}`);
  return fault(
    subject,
    `${what} and has no worker ${onQueue}: new runs wait`,
    `start its workers, or make a build current that has some: ${setCurrent(builds[0])}`,
  );
}

function setCurrent(build: DeploymentVersion | undefined): string {
  const { name, buildId } = build ?? { name: 'NAME', buildId: 'BUILD' };
  return `fermata versions --deployment ${name} --set-current ${buildId}`;
}
