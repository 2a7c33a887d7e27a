/** Builds of fermata's workers as Temporal knows them (Worker Versioning, docs/deploys.md). */
import type { Connection } from '@temporalio/client';
import type { DeploymentVersion } from '../../contracts/settings.ts';
import { statusOf } from './open-connection.ts';

/** What polls a task queue. */
export interface Polled {
  /** The build that new runs go to; null: unversioned workers. */
  readonly current: DeploymentVersion | null;
  readonly hasUnversioned: boolean;
  readonly builds: readonly DeploymentVersion[];
}

export type BuildStatus = 'inactive' | 'current' | 'ramping' | 'draining' | 'drained' | 'created' | 'unknown';

export interface Build {
  readonly version: DeploymentVersion;
  readonly status: BuildStatus;
  /** Of it alone: a run stays with the build that began it. */
  readonly openRuns: number;
}

/** A worker asks again after a minute; Temporal lists those of the last five. */
export const stillThereMs = 90_000;

const grpc = { notFound: 5, unimplemented: 12 } as const;
/** `TASK_QUEUE_TYPE_WORKFLOW` and `WORKER_VERSIONING_MODE_VERSIONED` of Temporal's API. */
const workflowQueue: Readonly<Record<string, number>> = { taskQueueType: 1 };
const versioned = 2;
/** `WorkerDeploymentVersionStatus` of Temporal's API, by number. */
const statuses: readonly BuildStatus[] = [
  'unknown',
  'inactive',
  'current',
  'ramping',
  'draining',
  'drained',
  'created',
];

export function isSameBuild(one: DeploymentVersion, other: DeploymentVersion): boolean {
  return one.name === other.name && one.buildId === other.buildId;
}

/** @param nowMs milliseconds since the epoch. */
export async function readPollers(
  connection: Connection,
  { namespace, taskQueue }: { readonly namespace: string; readonly taskQueue: string },
  nowMs: number,
): Promise<Polled> {
  const { pollers, versioningInfo } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    ...workflowQueue,
  });
  const there = (pollers ?? []).filter(
    ({ lastAccessTime }) => nowMs - Number(lastAccessTime?.seconds ?? 0) * 1_000 < stillThereMs,
  );
  const builds = new Map<string, DeploymentVersion>();
  let hasUnversioned = false;
  for (const { deploymentOptions } of there) {
    const version = versionOf(deploymentOptions);
    // A worker may name its build and yet take any run.
    const mode: number = deploymentOptions?.workerVersioningMode ?? 0;
    if (version === null || mode !== versioned) hasUnversioned = true;
    else builds.set(`${version.name}:${version.buildId}`, version);
  }
  return {
    current: versionOf(versioningInfo?.currentDeploymentVersion),
    hasUnversioned,
    builds: [...builds.values()],
  };
}

/** Newest first; none of a deployment whose workers have never come up. */
export async function listBuilds(
  connection: Connection,
  namespace: string,
  deploymentName: string,
): Promise<readonly Build[]> {
  try {
    const described = await connection.workflowService.describeWorkerDeployment({
      namespace,
      deploymentName,
    });
    const summaries = described.workerDeploymentInfo?.versionSummaries ?? [];
    const builds = await Promise.all(
      summaries.map(async (summary) => {
        const version = versionOf(summary.deploymentVersion);
        if (version === null) return [];
        const openRuns = await countOpenRuns(connection, namespace, version);
        return [{ version, status: statuses[summary.status ?? 0] ?? 'unknown', openRuns }];
      }),
    );
    return builds.flat();
  } catch (error) {
    const code = statusOf(error)?.code;
    if (code === grpc.notFound || code === grpc.unimplemented) return [];
    throw error;
  }
}

/** New runs go to it from now on. Temporal refuses a build of which no worker has asked for work. */
export async function setCurrentBuild(
  connection: Connection,
  namespace: string,
  { name, buildId }: DeploymentVersion,
): Promise<void> {
  await connection.workflowService.setWorkerDeploymentCurrentVersion({
    namespace,
    deploymentName: name,
    buildId,
    identity: 'fermata versions',
  });
}

async function countOpenRuns(
  connection: Connection,
  namespace: string,
  { name, buildId }: DeploymentVersion,
): Promise<number> {
  const query = `TemporalWorkerDeploymentVersion = '${name}:${buildId}' AND ExecutionStatus = 'Running'`;
  const { count } = await connection.workflowService.countWorkflowExecutions({ namespace, query });
  return Number(count ?? 0);
}

function versionOf(
  of: { readonly deploymentName?: string | null; readonly buildId?: string | null } | null | undefined,
): DeploymentVersion | null {
  const name = of?.deploymentName ?? '';
  const buildId = of?.buildId ?? '';
  return name === '' || buildId === '' ? null : { name, buildId };
}
