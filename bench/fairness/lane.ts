/**
 * Engines, a gateway before them and agents, apart from every other lane that runs at the same time. All lanes of
 * a question begin together.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import type { EngineConfig } from '../../testkit/sim-engine/core/engine-config.ts';
import { hashText } from '../../testkit/sim-engine/core/random.ts';
import { startAgents, type AgentsFound } from '../agents/agents.ts';
import type { WindowSite } from '../flood/window.ts';
import { startSglangRouter } from '../rivals/sglang-router.ts';
import type { Recording } from '../sim/recorder.ts';
import type { Load } from '../sim/workload.ts';
import { startGateway, type GatewayConfig } from '../site/gateway.ts';
import { replicasOf, startSimulatedPool, type PoolEngine } from '../site/simulated-pool.ts';

export interface LanePlan {
  readonly name: string;
  readonly replicas: readonly Partial<EngineConfig>[];
  readonly loads: readonly Load[];
  readonly gateway: 'sglang-router' | Pick<Required<GatewayConfig>, 'policy' | 'callers'>;
}

/** A warm-up that is not counted, then the time that is. */
export interface Times {
  readonly warmUpMs: number;
  readonly windowMs: number;
}

export interface LaneFound {
  readonly name: string;
  readonly seed: number;
  /** null: this checkout. */
  readonly version: string | null;
  readonly recording: Recording;
  readonly failures: AgentsFound['failures'];
  readonly wrongReplies: number;
}

interface OpenLane {
  readonly plan: LanePlan;
  readonly seed: number;
  readonly baseUrl: string;
  readonly model: string;
  readonly version: string | null;
}

/** Starts all lanes for all seeds, lets the agents of all of them work, and stops everything. */
export async function runLanes(
  plans: readonly LanePlan[],
  seeds: readonly number[],
  times: Times,
  site: WindowSite,
): Promise<readonly LaneFound[]> {
  const parts: Closable[] = [];
  try {
    const lanes: OpenLane[] = [];
    for (const seed of seeds) {
      for (const plan of plans) lanes.push(await openLane(plan, seed, site, parts));
    }
    return await Promise.all(lanes.map(async (lane) => await watch(lane, times)));
  } finally {
    await closeInReverse(parts);
  }
}

async function openLane(
  plan: LanePlan,
  seed: number,
  site: WindowSite,
  parts: Closable[],
): Promise<OpenLane> {
  const workDir = join(site.workDir, `${plan.name}-${seed}`);
  await mkdir(workDir, { recursive: true });
  const place = { ...site, workDir };
  const dialect = plan.gateway === 'sglang-router' ? 'sglang' : 'vllm';
  const engines = plan.replicas.map((config, index) => ({
    id: `engine-${index}`,
    dialect,
    engine: { jitter: 0.05, ...config, seed: hashText(`engine ${index}`, seed) },
  }));
  const pool = await startSimulatedPool('engines', { engines, toolServer: null }, place);
  parts.push(pool);
  const gateway = await openGateway(plan, pool.engines, place, parts);
  return { plan, seed, model: pool.engines[0]?.model ?? '', ...gateway };
}

async function openGateway(
  { gateway }: LanePlan,
  engines: readonly PoolEngine[],
  place: WindowSite,
  parts: Closable[],
): Promise<Pick<OpenLane, 'baseUrl' | 'version'>> {
  if (gateway === 'sglang-router') {
    const router = await startSglangRouter(
      engines.map(({ url }) => url),
      place,
    );
    parts.push(router);
    return { baseUrl: router.url, version: router.version };
  }
  const fermata = await startGateway('fermata', { pool: replicasOf(engines), ...gateway }, place);
  parts.push(fermata);
  return { baseUrl: fermata.url, version: null };
}

async function watch(
  { plan, seed, baseUrl, model, version }: OpenLane,
  { warmUpMs, windowMs }: Times,
): Promise<LaneFound> {
  const endMs = warmUpMs + windowMs;
  const crew = startAgents({
    baseUrl,
    model,
    loads: plan.loads,
    seed,
    dialogue: 'scripted',
    named: plan.gateway !== 'sglang-router',
    arrivalsUntilMs: endMs,
  });
  let found: AgentsFound;
  try {
    await crew.until(endMs);
  } finally {
    found = await crew.stop();
  }
  const { runs, turns, failures, wrongReplies } = found;
  const recording: Recording = { runs, turns, startMs: warmUpMs, endMs, preemptions: 0 };
  return { name: plan.name, seed, version, recording, failures, wrongReplies };
}
