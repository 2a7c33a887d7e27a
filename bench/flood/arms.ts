/**
 * Arms of the flood and of routing: one way each from the agents to the engines. Rivals get plain requests, as
 * their users send them; fermata gets its three run headers. `vllm-router-programs` is vLLM's router with its
 * own scheduling of agent programs turned on and told all that its documentation asks for: the engines'
 * capacity, what their prefill and decoding cost, and in each request the program and its priority.
 */
import { SetupFault } from '../../cli/setup/setup-fault.ts';
import { defaultEngineConfig } from '../../testkit/sim-engine/core/engine-config.ts';
import { blockTokens } from '../../testkit/sim-engine/core/tokens.ts';
import type { AgentsOptions } from '../agents/agents.ts';
import { untilReady, type RunningProcess } from '../overhead/processes.ts';
import type { RivalDeps, RivalPolicy, StartRival } from '../rivals/rival.ts';
import { startSglangRouter } from '../rivals/sglang-router.ts';
import { startSmg } from '../rivals/smg.ts';
import { startVllmPrograms, startVllmRouter } from '../rivals/vllm-router.ts';
import { startFermataServices } from '../site/fermata-processes.ts';
import { allHealthy } from '../site/gateway.ts';
import type { Scenario } from '../sim/scenario.ts';
import type { RunPlan } from '../sim/workload.ts';
import type { RunningEngines } from './engines.ts';

export interface RunningArm {
  readonly url: string;
  /** Exact version; null: this checkout. */
  readonly version: string | null;
  readonly processes: readonly RunningProcess[];
  close(): Promise<void>;
}

export interface Arm {
  readonly name: string;
  /** The policy of `npm run sim` that it is, or is nearest to; null: none. */
  readonly policy: string | null;
  /**
   * `router`: one that sends at once, as it is shipped; the bars are over the best of these. `programs`: one
   * that schedules agent programs and was told all about them; the bars ask to be ahead of it.
   */
  readonly kind: 'router' | 'programs' | 'fermata';
  /** Whose names the engines' metrics have: those that the arm can read. */
  readonly dialect: 'vllm' | 'sglang';
  /** How the agents say who they are. */
  readonly agents: Pick<AgentsOptions, 'named' | 'runFields'>;
  start(engines: RunningEngines, scenario: Scenario, deps: RivalDeps): Promise<RunningArm>;
}

function rival(name: string, start: StartRival, dialect: Arm['dialect'], policy: RivalPolicy): Arm {
  return {
    name,
    policy: policy === 'cache_aware' ? 'cache-aware' : 'round-robin',
    kind: 'router',
    dialect,
    agents: { named: false },
    start: async (engines, _scenario, deps) => {
      const router = await start(engines.urls, { ...deps, policy });
      return { ...router, processes: [router.process] };
    },
  };
}

function fermata(name: string, admission: 'residency' | 'engine-load'): Arm {
  return {
    name,
    policy: admission,
    kind: 'fermata',
    dialect: 'vllm',
    agents: { named: true },
    start: async (engines, _scenario, deps) => {
      const pool = engines.urls.map((url, index) => ({ id: `engine-${index}`, url, engine: engines.engine }));
      const services = await startFermataServices({ pool, policy: { admission } }, deps);
      const { proxy, scheduler, close } = services;
      try {
        await untilReady(proxy, async () => ((await allHealthy(proxy.url)) ? true : null));
      } catch (error) {
        await close();
        throw error;
      }
      return { url: proxy.url, version: null, processes: [proxy, scheduler], close };
    },
  };
}

const programs: Arm = {
  name: 'vllm-router-programs',
  policy: null,
  kind: 'programs',
  dialect: 'vllm',
  agents: { named: false, runFields: programFields },
  start: async (engines, { replicas }, deps) => {
    if (engines.engine !== 'vllm') {
      throw new SetupFault("it reads vLLM's metrics, which these engines do not have");
    }
    const capacities = replicas.map(({ totalBlocks }) => (totalBlocks ?? 0) * blockTokens);
    const { prefillTokensPerSecond, decodeBaseMs, decodePerRequestMs } = defaultEngineConfig;
    const router = await startVllmPrograms(
      engines.urls,
      {
        capacityTokens: Math.min(...capacities),
        secondsPer1kPrompt: 1_000 / prefillTokensPerSecond,
        decodeSeconds: decodeBaseMs / 1_000,
        decodeSecondsPerRequest: decodePerRequestMs / 1_000,
      },
      deps,
    );
    return { ...router, processes: [router.process] };
  },
};

function programFields(plan: RunPlan): Readonly<Record<string, unknown>> {
  const priority = plan.class === 'interactive' ? 10 : 0;
  return { vllm_xargs: { agentic_context: { program_id: plan.id, task_id: plan.id, priority } } };
}

export const sglangRouter = rival('sglang-router', startSglangRouter, 'sglang', 'cache_aware');
export const residency = fermata('residency', 'residency');

export const floodArms: readonly Arm[] = [
  sglangRouter,
  rival('smg', startSmg, 'sglang', 'cache_aware'),
  rival('vllm-router', startVllmRouter, 'vllm', 'cache_aware'),
  programs,
  fermata('engine-load', 'engine-load'),
  residency,
];

export const routingArms: readonly Arm[] = [
  sglangRouter,
  rival('sglang-router-round-robin', startSglangRouter, 'sglang', 'round_robin'),
  rival('smg', startSmg, 'sglang', 'cache_aware'),
  rival('smg-round-robin', startSmg, 'sglang', 'round_robin'),
  rival('vllm-router', startVllmRouter, 'vllm', 'cache_aware'),
  rival('vllm-router-round-robin', startVllmRouter, 'vllm', 'round_robin'),
  residency,
];
