/**
 * `npm run bench -- operate [--quick]`: three workers, two mcp-servers, two proxies, a scheduler and its standby,
 * each a process, under durable runs and agents with loops of their own. Each process is killed with kill -9 and
 * started again, in turn; then everything is replaced by a build with other workflows, as a deploy does it. Every
 * run, turn, tool call and request is accounted for. The load balancer is the bench's own (balancer.ts).
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { publish } from '../bars.ts';
import { readTranscripts } from '../durability/read-transcripts.ts';
import { judge, type Transcripts, type TranscriptMessage } from '../durability/verdict.ts';
import { killInTurn, untilAnswered, type KillSeen } from './chaos.ts';
import { isToldToAskAgain } from './blame.ts';
import { nineProcesses } from './cluster-plan.ts';
import { openCluster, startMembers, type Cluster } from './cluster.ts';
import {
  builds,
  buildSettings,
  cliOf,
  countOf,
  deployEverything,
  deployment,
  makeCurrent,
} from './deploy.ts';
import { doubledAsks, startLoad, type Load } from './load.ts';
import { planOf, type OperatePlan } from './plan.ts';
import { makeSecondBuild } from './second-build.ts';
import { operateBars, operateText, type OperateFound } from './summary.ts';

/** What is lost after the last restart has this long to show that it is not. */
const settleLimitMs = 180_000;

type Progress = (line: string) => void;

/** Measures and gives what was found; prints only progress. */
export async function runOperate(
  plan: OperatePlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: Progress,
): Promise<OperateFound> {
  const second = await makeSecondBuild();
  const cluster = await openCluster({
    name: 'operate',
    counts: nineProcesses,
    environment,
    progress,
    placesOfEngine: 12,
    toolDelayScale: 1,
    settings: ({ kind }) => (kind === 'worker' ? buildSettings(builds.first) : {}),
  });
  let whole = false;
  try {
    await startMembers(cluster, progress);
    await makeCurrent(cluster, builds.first);
    const found = await killAndDeploy(cluster, second.root, plan, progress);
    whole = operateBars(plan, found).every(({ value, limit, op }) => (op === '=' ? value === limit : true));
    return found;
  } finally {
    await cluster.close(!whole);
    await second.close();
    if (!whole) progress(`logs and Temporal's database are kept in ${cluster.stateDir}`);
  }
}

async function killAndDeploy(
  cluster: Cluster,
  root: string,
  plan: OperatePlan,
  progress: Progress,
): Promise<OperateFound> {
  const load = startLoad(cluster, { ...plan, keepAlive: false });
  const transcripts = new Map<string, readonly TranscriptMessage[]>();
  /** A transcript is read by a worker of its run's build. */
  const readEnded = async (): Promise<void> => {
    const unread = load.recorder.runs.flatMap(({ handle, endMs }) =>
      handle === null || endMs === null || transcripts.has(handle) ? [] : [handle],
    );
    for (const [handle, messages] of await readTranscripts(cluster.temporal.address, unread))
      transcripts.set(handle, messages);
  };
  let kills: readonly KillSeen[] = [];
  let finished = false;
  try {
    kills = await killInTurn(cluster, load.agents, plan, progress);
    await deployEverything({
      cluster,
      agents: load.agents,
      root,
      answersBetween: plan.answersBetween,
      drained: readEnded,
      progress,
    });
    // The new build does everything alone for a while.
    await untilAnswered(load.agents, 2 * plan.answersBetween);
    progress('all is restarted; waiting for the last runs ...');
    finished = true;
    await load.finish(settleLimitMs);
  } finally {
    if (!finished) await load.finish(0).catch(() => undefined);
  }
  progress('reading the transcripts ...');
  await readEnded();
  return await foundOf(cluster, load, transcripts, kills);
}

async function foundOf(
  cluster: Cluster,
  load: Load,
  transcripts: Transcripts,
  kills: readonly KillSeen[],
): Promise<OperateFound> {
  const seen = load.recorder.observations();
  const failed = seen.clientCalls.flatMap(({ tool, server, startMs, endMs, failure }) =>
    failure === null ? [] : [{ server, startMs, endMs, why: `${tool}: ${failure}` }],
  );
  await writeFile(join(cluster.stateDir, 'observations.json'), JSON.stringify(seen));
  const { tally, balancer } = load.agents;
  const ended = async (build: string): Promise<number> => {
    const query = `TemporalWorkerDeploymentVersion = '${deployment}:${build}' AND ExecutionStatus != 'Running'`;
    return countOf(await cliOf(cluster).run('workflow', 'count', '--query', query));
  };
  return {
    verdict: judge(seen, transcripts),
    runs: seen.runs.length,
    kills,
    lives: cluster.members.flatMap(({ lives }) => lives),
    agents: {
      runs: tally.runsEnded,
      answered: tally.turnsAnswered,
      lost: tally.turnsLost,
      losses: tally.lost,
      doubled: doubledAsks(load.asked, tally.sent),
      exchanges: balancer.exchanges,
      nobodyThere: balancer.nobodyThere,
    },
    mcp: {
      calls: seen.clientCalls.length,
      failed: failed.filter((one) => !isToldToAskAgain(one)),
      toldToAskAgain: failed.filter(isToldToAskAgain),
      nobodyThere: load.mcp.balancer.nobodyThere,
      exchanges: load.mcp.balancer.exchanges,
    },
    endedOnBuild: { first: await ended(builds.first), second: await ended(builds.second) },
  };
}

/** @returns the exit code. */
export async function runOperateBench(quick: boolean): Promise<0 | 1> {
  const startedMs = performance.now();
  const plan = planOf(quick);
  const found = await runOperate(plan, process.env, (line) => process.stderr.write(`${line}\n`));
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  process.stdout.write(`\n${operateText(found)}\n\nin ${seconds} s\n\n`);
  const { agents, mcp, ...rest } = found;
  return await publish('operate', operateBars(plan, found), {
    details: {
      quick,
      plan,
      seconds,
      ...rest,
      agents: { ...agents, exchanges: agents.exchanges.slice(0, 200) },
      mcp: {
        ...mcp,
        exchanges: mcp.exchanges.slice(0, 200),
        failed: mcp.failed.slice(0, 200),
        toldToAskAgain: mcp.toldToAskAgain.length,
      },
    },
  });
}
