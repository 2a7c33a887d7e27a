/**
 * The same runs by the same agents, directly and through fermata, at the same time before engines of their own:
 * what else the machine does it does to both.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { agentTimeoutMs } from '../agents/ask.ts';
import { differences } from '../agents/agents.ts';
import { runAgent, type AgentRun } from '../agents/run-agent.ts';
import { residency } from '../flood/arms.ts';
import { startSimulatedEngines } from '../flood/engines.ts';
import type { WindowSite } from '../flood/window.ts';
import { quantile } from '../sim/statistics.ts';
import { planRun, type RunPlan } from '../sim/workload.ts';
import type { IdlePlan } from './plan.ts';

export const idleArms = ['direct', 'fermata'] as const;
export type IdleArm = (typeof idleArms)[number];

export interface IdleWindow {
  readonly arm: IdleArm;
  readonly seed: number;
  /** Runs over the mean time that an agent took for its share of them, per agent and minute. */
  readonly runsPerMinute: number;
  readonly runP50Ms: number | null;
  readonly turnP50Ms: number | null;
  readonly firstByteP50Ms: number | null;
  readonly cachedShare: number;
  readonly failed: number;
  readonly wrongReplies: number;
}

export interface IdleRepeat {
  readonly windows: readonly IdleWindow[];
  /** Runs that both arms did, and those of them that were told something else. */
  readonly compared: number;
  readonly different: number;
}

interface Opened {
  readonly arm: IdleArm;
  readonly baseUrl: string;
  readonly model: string;
}

export async function measureRepeat(plan: IdlePlan, seed: number, site: WindowSite): Promise<IdleRepeat> {
  const parts: Closable[] = [];
  try {
    const opened: Opened[] = [];
    for (const arm of idleArms) opened.push(await openArm(arm, plan, seed, site, parts));
    const worked = await Promise.all(opened.map(async (one) => await work(one, plan, seed)));
    const [direct, fermata] = worked;
    return {
      windows: worked.map(({ window }) => window),
      ...differences(direct?.answers ?? new Map(), fermata?.answers ?? new Map()),
    };
  } finally {
    await closeInReverse(parts);
  }
}

async function openArm(
  arm: IdleArm,
  { scenario }: IdlePlan,
  seed: number,
  site: WindowSite,
  parts: Closable[],
): Promise<Opened> {
  const workDir = join(site.workDir, `${arm}-${seed}`);
  await mkdir(workDir, { recursive: true });
  const place = { ...site, workDir };
  const engines = await startSimulatedEngines(scenario, seed, 'vllm', place);
  parts.push(engines);
  const [engineUrl] = engines.urls;
  if (engineUrl === undefined) throw new RangeError('no engine');
  if (arm === 'direct') return { arm, baseUrl: engineUrl, model: engines.model };
  const gateway = await residency.start(engines, scenario, place);
  parts.push(gateway);
  return { arm, baseUrl: gateway.url, model: engines.model };
}

/** Agents begin a part of a second apart, as if by chance, in every arm alike. */
const staggerMs = 700;

async function work({ arm, baseUrl, model }: Opened, plan: IdlePlan, seed: number) {
  const dispatcher = new Agent({
    headersTimeout: agentTimeoutMs,
    bodyTimeout: agentTimeoutMs,
    pipelining: 0,
  });
  const target = { dispatcher, baseUrl, model, dialogue: 'scripted', named: arm === 'fermata' } as const;
  const clock = { startedAtMs: performance.now(), signal: new AbortController().signal };
  const answers = new Map<string, string>();
  const agent = async (plans: readonly RunPlan[], index: number) => {
    await sleep(index * staggerMs);
    const startedMs = performance.now();
    const runs: AgentRun[] = [];
    for (const one of plans) {
      const run = await runAgent(one, target, clock);
      if (run.digest !== null) answers.set(one.id, run.digest);
      runs.push(run);
    }
    return { runs, tookMs: performance.now() - startedMs };
  };
  const shares = plan.scenario.loads.flatMap(({ agents, shape }, load) =>
    Array.from({ length: agents }, (_, index) =>
      Array.from({ length: plan.runsPerAgent }, (_unused, number) =>
        planRun(seed, load, index, number, shape),
      ),
    ),
  );
  const done = await Promise.all(shares.map(agent));
  await dispatcher.destroy();
  const runs = done.flatMap((one) => one.runs);
  const turns = runs.flatMap((run) => run.turns);
  const prompt = turns.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
  const meanMs = done.reduce((sum, { tookMs }) => sum + tookMs, 0) / done.length;
  const window: IdleWindow = {
    arm,
    seed,
    runsPerMinute: (runs.length * 60_000) / meanMs,
    runP50Ms: quantile(
      runs.map(({ record }) => (record.endedAtMs ?? Number.NaN) - record.startedAtMs),
      0.5,
    ),
    turnP50Ms: quantile(
      turns.map((turn) => (turn.finishedAtMs ?? Number.NaN) - turn.arrivedAtMs),
      0.5,
    ),
    firstByteP50Ms: quantile(
      turns.map((turn) => (turn.firstByteAtMs ?? Number.NaN) - turn.arrivedAtMs),
      0.5,
    ),
    cachedShare: prompt === 0 ? 0 : turns.reduce((sum, turn) => sum + turn.cachedTokens, 0) / prompt,
    failed: runs.filter(({ fault }) => fault !== null).length,
    wrongReplies: runs.reduce((sum, { wrongReplies }) => sum + wrongReplies, 0),
  };
  return { window, answers };
}
