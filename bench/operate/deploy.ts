/**
 * A rolling deploy of everything, as docs/deploys.md has it: each process is asked to stop by SIGTERM and comes
 * back as the new build; workers of the new build start beside the old ones, which go when no open run is theirs.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import { operatorCli, type OperatorCli } from '../../test/deploys/deployment-cli.ts';
import type { RunningAgents } from './agents.ts';
import { untilAnswered } from './chaos.ts';
import type { Cluster } from './cluster.ts';
import { activeScheduler } from './scheduler-role.ts';

export const deployment = 'operate';
export const builds = { first: 'build-1', second: 'build-2' } as const;

/** What a worker of a build needs in its environment. */
export function buildSettings(build: string): Readonly<Record<string, string>> {
  return { FERMATA_DEPLOYMENT: deployment, FERMATA_BUILD_ID: build };
}

const pollMs = 500;
const knownLimitMs = 60_000;
/** Longest that runs of the old build may take to end. */
const drainLimitMs = 240_000;
/** Counts of open runs lag behind by a second or so. */
const zerosInARow = 3;

export function cliOf({ temporalBinary, temporal }: Cluster): OperatorCli {
  return operatorCli(temporalBinary, temporal.address);
}

/** Temporal knows of a build once one of its workers has asked for work. @throws Error when that takes a minute. */
export async function makeCurrent(cluster: Cluster, build: string): Promise<void> {
  const deadlineMs = Date.now() + knownLimitMs;
  for (;;) {
    try {
      await cliOf(cluster).setCurrent(deployment, build);
      return;
    } catch (error) {
      if (Date.now() > deadlineMs) throw error;
      await sleep(pollMs);
    }
  }
}

export interface DeployOptions {
  readonly cluster: Cluster;
  readonly agents: RunningAgents;
  /** Folder of the new build. */
  readonly root: string;
  readonly answersBetween: number;
  /** Called when no open run is the old build's and its workers are there still. */
  readonly drained: () => Promise<void>;
  readonly progress: Progress;
}

export async function deployEverything(options: DeployOptions): Promise<void> {
  const { cluster, agents, root, answersBetween, progress } = options;
  const active = await activeScheduler(cluster);
  const standbys = cluster.of('scheduler').filter((member) => member !== active);
  // The one that decides goes last: its place is taken by one of the new build.
  const inPlace = [...standbys, active, ...cluster.of('proxy'), ...cluster.of('mcp-server')];
  for (const member of inPlace) {
    progress(`deploy: SIGTERM ${member.name}`);
    await member.stop();
    await member.start(root);
    await untilAnswered(agents, answersBetween);
  }
  await replaceWorkers(options);
}

async function replaceWorkers({ cluster, root, drained, progress }: DeployOptions): Promise<void> {
  const old = cluster.of('worker');
  progress(`deploy: ${old.length} workers of the new build start beside the old ones`);
  for (const [index] of old.entries()) {
    const worker = await cluster.add(
      'worker',
      `worker-${old.length + index + 1}`,
      buildSettings(builds.second),
    );
    await worker.start(root);
    // From the first on: those that follow find work.
    if (index === 0) await makeCurrent(cluster, builds.second);
  }
  progress("deploy: the new build is current; waiting until no open run is the old one's ...");
  await untilDrained(cluster);
  await drained();
  await moveTrees(cluster);
  for (const worker of old) {
    progress(`deploy: SIGTERM ${worker.name}`);
    await worker.stop();
  }
}

/**
 * What runs of the old build have ended does not wait for the trees that they stood in: those stay open for ten
 * idle minutes. They can be replayed by the new build, and are moved there.
 */
async function untilDrained(cluster: Cluster): Promise<void> {
  const cli = cliOf(cluster);
  const deadlineMs = Date.now() + drainLimitMs;
  let zeros = 0;
  while (zeros < zerosInARow) {
    const open = countOf(
      await cli.run('workflow', 'count', '--query', `${openOn(builds.first)} AND WorkflowType = 'agentRun'`),
    );
    zeros = open === 0 ? zeros + 1 : 0;
    if (Date.now() > deadlineMs) {
      throw new Error(`${open} runs of the old build are open still after ${drainLimitMs / 1_000} s`);
    }
    await sleep(pollMs);
  }
}

/** Moves what is open on the old build to the new one. */
async function moveTrees(cluster: Cluster): Promise<void> {
  const override = '--versioning-override';
  await cliOf(cluster).run(
    'workflow',
    'update-options',
    '--query',
    openOn(builds.first),
    `${override}-behavior`,
    'one_time',
    `${override}-deployment-name`,
    deployment,
    `${override}-build-id`,
    builds.second,
    '--reason',
    'deploy',
    '--yes',
  );
}

function openOn(build: string): string {
  return `TemporalWorkerDeploymentVersion = '${deployment}:${build}' AND ExecutionStatus = 'Running'`;
}

/** Of what `temporal workflow count` prints. */
export function countOf(answer: unknown): number {
  const count = typeof answer === 'object' && answer !== null && 'count' in answer ? answer.count : 0;
  return Number(count);
}
