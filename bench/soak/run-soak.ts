/**
 * `npm run soak [-- --quick]`: 100,000 turns through two of everything while parts are killed and restarted all
 * the time. In the first quarter everything may die; from then on one of each kind survives, and is measured; at
 * the end the survivors are killed too, all at once, as when their machine dies. Nothing may be lost, doubled, left
 * behind or grow.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import { readTranscripts } from '../durability/read-transcripts.ts';
import { judge } from '../durability/verdict.ts';
import { untilAnswered } from '../operate/chaos.ts';
import { openCluster, ownRoot, startMembers, type Cluster } from '../operate/cluster.ts';
import { doubledAsks, startLoad, type Load } from '../operate/load.ts';
import type { Member } from '../operate/member.ts';
import { memoryHookArgs } from '../overhead/memory-probe.ts';
import { sampleFiles, type FileSample } from './file-growth.ts';
import type { SoakFound } from './found.ts';
import { whatIsLeft } from './left-over.ts';
import { keepPace, type TurnCounts } from './pace.ts';
import { fewestSamples, measuredTurns, quarterOf, type SoakPlan } from './plan.ts';
import { startRestarts, type Restarts } from './restarts.ts';
import { memoryEnvironment, sampleSurvivors, type Sample } from './survivors.ts';

/** What is lost after the last restart has this long to show that it is not. */
const settleLimitMs = 180_000;
const progressEveryMs = 5_000;
const pollMs = 100;
const answersBetween = 50;
/** Fast, with memory for all: what is measured is not the engine. */
const engine = { timeScale: 0.05, engine: { totalBlocks: 65_536, maxRunning: 256 }, maxRecords: 8_000 };

/** Measures and gives what was found; prints only progress. @param keep whether the folder of the cluster stays. */
export async function runSoak(
  plan: SoakPlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: Progress,
  keep: (found: SoakFound) => boolean,
): Promise<SoakFound> {
  const cluster = await openCluster({
    name: 'soak',
    counts: plan.counts,
    environment,
    progress,
    engine,
    placesOfEngine: 24,
    toolDelayScale: 0.05,
    ...(plan.measuresMemory
      ? { nodeArgs: memoryHookArgs, settings: ({ name }, stateDir) => memoryEnvironment(stateDir, name) }
      : {}),
  });
  let kept = true;
  try {
    await startMembers(cluster, progress);
    const found = await soak(cluster, plan, progress);
    kept = keep(found);
    return found;
  } finally {
    await cluster.close(kept);
    if (kept) progress(`logs and Temporal's database are kept in ${cluster.stateDir}`);
  }
}

async function soak(cluster: Cluster, plan: SoakPlan, progress: Progress): Promise<SoakFound> {
  const startedMs = performance.now();
  let counts: () => TurnCounts = () => ({ durable: 0, agents: 0 });
  const pace = keepPace(plan, () => counts());
  const load = startLoad(cluster, { ...plan, keepAlive: true, pace });
  counts = () => ({ durable: load.recorder.turnCount, agents: load.agents.tally.turnsAnswered });
  const reporting = setInterval(
    () => progress(progressLine(plan, load, restarts.count(), startedMs)),
    progressEveryMs,
  );
  const restarts = startRestarts(cluster, plan.restartGapMs);
  const measured: { samples: Sample[]; files: FileSample[] } = { samples: [], files: [] };
  let finished = false;
  let finalKills = 0;
  try {
    await untilTurns(plan.turns / 4, load);
    const survivors = await restarts.settle();
    await measure({ cluster, plan, load, survivors, restarts }, measured);
    await restarts.stop();
    progress(
      `the end of the survivors, all at once: kill -9 ${survivors.map(({ name }) => name).join(', ')}`,
    );
    await Promise.all(survivors.map(async (member) => await member.kill()));
    await Promise.all(survivors.map(async (member) => await member.start(ownRoot)));
    finalKills = survivors.length;
    await untilAnswered(load.agents, answersBetween);
    finished = true;
    pace.release();
    await load.finish(settleLimitMs);
  } finally {
    clearInterval(reporting);
    pace.release();
    if (!finished) {
      await restarts.stop().catch(() => undefined);
      await load.finish(0).catch(() => undefined);
    }
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  progress('all turns are done; reading the transcripts ...');
  return await foundOf(cluster, load, measured, { seconds, restarts: restarts.count() + finalKills });
}

interface Soaking {
  readonly cluster: Cluster;
  readonly plan: SoakPlan;
  readonly load: Load;
  readonly survivors: readonly Member[];
  readonly restarts: Restarts;
}

function turnsDone(load: Load): number {
  return load.recorder.turnCount + load.agents.tally.turnsAnswered;
}

/** @throws Error when agents are not answered for two minutes. */
async function untilTurns(wanted: number, load: Load): Promise<void> {
  while (turnsDone(load) < wanted) await untilAnswered(load.agents, 1).then(async () => await sleep(pollMs));
}

/** The last three quarters. */
async function measure(
  { cluster, plan, load, survivors, restarts }: Soaking,
  measured: { samples: Sample[]; files: FileSample[] },
): Promise<void> {
  const since = turnsDone(load);
  const wanted = measuredTurns(plan);
  const memoryDir = plan.measuresMemory ? cluster.stateDir : null;
  const isOver = (): boolean => turnsDone(load) - since >= wanted && restarts.count() >= plan.fewestRestarts;
  while (!isOver()) {
    restarts.check();
    const turns = turnsDone(load);
    const quarter = quarterOf(turns - since, plan.turns);
    measured.samples.push(...(await sampleSurvivors(survivors, memoryDir, { turns, quarter })));
    measured.files.push(await sampleFiles(cluster.stateDir, quarter));
    const nextMs = performance.now() + plan.sampleEveryMs;
    const isDue = (): boolean =>
      performance.now() >= nextMs || turnsDone(load) - turns >= wanted / fewestSamples;
    while (!isDue() && !isOver()) {
      await untilAnswered(load.agents, 1);
      await sleep(pollMs);
    }
  }
}

function progressLine(plan: SoakPlan, load: Load, restarts: number, startedMs: number): string {
  const { tally } = load.agents;
  const done = turnsDone(load);
  const seconds = (performance.now() - startedMs) / 1_000;
  const share = done === 0 ? 0 : (100 * load.recorder.turnCount) / done;
  return `${done} of ${plan.turns} turns (${Math.round(done / seconds)}/s, ${share.toFixed(1)} % durable), ${restarts} restarts, ${tally.turnsLost} lost, ${seconds.toFixed(0)} s`;
}

async function foundOf(
  cluster: Cluster,
  load: Load,
  measured: { readonly samples: readonly Sample[]; readonly files: readonly FileSample[] },
  times: { readonly seconds: number; readonly restarts: number },
): Promise<SoakFound> {
  const handles = load.recorder.runs.flatMap((run) => (run.endMs === null ? [] : (run.handle ?? [])));
  const transcripts = await readTranscripts(cluster.temporal.address, handles);
  const { tally, balancer } = load.agents;
  return {
    ...times,
    ...measured,
    verdict: judge(load.recorder.observations(), transcripts),
    runs: load.recorder.runs.length,
    agents: {
      runs: tally.runsEnded,
      answered: tally.turnsAnswered,
      lost: tally.turnsLost,
      losses: tally.lost,
      doubled: doubledAsks(load.asked, tally.sent),
      brokenRequests: balancer.exchanges.filter(({ outcome }) => outcome === 'failed').length,
    },
    lives: cluster.members.flatMap(({ lives }) => lives),
    left: await whatIsLeft(cluster),
  };
}
