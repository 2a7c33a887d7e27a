/**
 * The two ways that sub-agents' work is carried out, each over engines and a tool server of its own: fermata
 * whole, driven through MCP, and bare loops through SGLang's router.
 */
import { setMaxListeners } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import type { ServiceClass } from '../../contracts/service-class.ts';
import { startSimulatedEngines, type RunningEngines } from '../flood/engines.ts';
import type { WindowSite } from '../flood/window.ts';
import { connectLegacy, type ToolClient } from '../mcp-clients.ts';
import type { StartRival } from '../rivals/rival.ts';
import { startSglangRouter } from '../rivals/sglang-router.ts';
import type { Scenario } from '../sim/scenario.ts';
import type { RunPlan } from '../sim/workload.ts';
import { startSimulatedPool } from '../site/simulated-pool.ts';
import { startStackProcess } from '../site/stack.ts';
import { loopDispatcher, openTools, runBareLoop, type ToolDoor } from './bare-loop.ts';
import type { CarryOut } from './outcome.ts';
import { runSubAgent } from './sub-agent.ts';
import { toolServerName, workOf, type SubAgentWork, type WorkTool } from './work.ts';

export interface Side {
  readonly name: 'fermata' | 'sglang-router';
  /** null: this checkout. */
  readonly version: string | null;
  readonly carryOut: CarryOut<RunPlan>;
  readonly workOf: (plan: RunPlan) => SubAgentWork;
  /** Of all its processes, by name. */
  readonly pids: Readonly<Record<string, number>>;
  close(): Promise<void>;
}

export interface FermataSide extends Side {
  /** Each class is a client, and so a caller, of its own. */
  readonly clients: Readonly<Record<ServiceClass, ToolClient>>;
}

export interface SidePlan {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly tool: WorkTool;
}

interface Ground {
  readonly engines: RunningEngines;
  readonly toolServerUrl: string;
  readonly tools: ToolDoor;
  readonly site: WindowSite;
  readonly pids: Readonly<Record<string, number>>;
}

/** Engines, the tool server, and a folder: what both sides need. */
async function startGround(
  name: Side['name'],
  { scenario, seed }: SidePlan,
  site: WindowSite,
  parts: Closable[],
): Promise<Ground> {
  const workDir = join(site.workDir, `${name}-${seed}`);
  await mkdir(workDir, { recursive: true });
  const place = { ...site, workDir };
  const engines = await startSimulatedEngines(scenario, seed, name === 'fermata' ? 'vllm' : 'sglang', place);
  parts.push(engines);
  const served = await startSimulatedPool('tools', { engines: [], toolServer: {} }, place);
  parts.push(served);
  if (served.toolServerUrl === null) throw new RangeError('the tool server has no address');
  const tools = await openTools(served.toolServerUrl);
  parts.push(tools);
  const pids = Object.fromEntries(engines.pids.map((pid, index) => [`engine ${index}`, pid]));
  return {
    engines,
    toolServerUrl: served.toolServerUrl,
    tools,
    site: place,
    pids: { ...pids, tools: served.pid },
  };
}

/** @throws SetupFault when a part cannot be had; then nothing is left running. */
export async function startFermataSide(plan: SidePlan, site: WindowSite): Promise<FermataSide> {
  return await whole(async (parts) => {
    const ground = await startGround('fermata', plan, site, parts);
    const { engines, tools } = ground;
    const pool = engines.urls.map((url, index) => ({
      id: `engine-${index}`,
      url,
      engine: engines.engine,
      models: [engines.model],
    }));
    const config = { pool, tools: { mcpServers: { [toolServerName]: { url: ground.toolServerUrl } } } };
    const stack = await startStackProcess({ ...ground.site, config, separate: false });
    parts.push(stack);
    const connect = async (): Promise<ToolClient> => {
      const client = await connectLegacy(stack.mcpUrl);
      parts.push(client);
      return client;
    };
    const clients = { interactive: await connect(), batch: await connect() };
    const work = (run: RunPlan): SubAgentWork => workOf(run, plan.tool, tools.offered(plan.tool));
    return {
      name: 'fermata',
      version: null,
      clients,
      workOf: work,
      carryOut: async (run) => await runSubAgent(clients[run.class], work(run), plan.tool),
      pids: { ...ground.pids, ...stack.pids },
    };
  });
}

/** @throws SetupFault when a part cannot be had; then nothing is left running. */
export async function startBareSide(
  plan: SidePlan,
  site: WindowSite,
  startRouter: StartRival = startSglangRouter,
): Promise<Side> {
  return await whole(async (parts) => {
    const ground = await startGround('sglang-router', plan, site, parts);
    const { engines, tools } = ground;
    const router = await startRouter(engines.urls, ground.site);
    parts.push(router);
    const dispatcher = loopDispatcher();
    const stopping = new AbortController();
    // Every request and every call of 52 loops listens to it.
    setMaxListeners(0, stopping.signal);
    parts.push({
      close: async () => {
        stopping.abort();
        await dispatcher.destroy();
      },
    });
    const work = (run: RunPlan): SubAgentWork => workOf(run, plan.tool, tools.offered(plan.tool));
    return {
      name: 'sglang-router',
      version: router.version,
      workOf: work,
      carryOut: async (run) =>
        await runBareLoop(work(run), {
          baseUrl: router.url,
          model: engines.model,
          tool: plan.tool,
          tools,
          dispatcher,
          signal: stopping.signal,
        }),
      pids: { ...ground.pids, router: router.process.pid },
    };
  });
}

/** A side that closes all its parts, also when not all of them could be started. */
async function whole<Parts extends Omit<Side, 'close'>>(
  start: (parts: Closable[]) => Promise<Parts>,
): Promise<Parts & Pick<Side, 'close'>> {
  const parts: Closable[] = [];
  const close = async (): Promise<void> => await closeInReverse(parts);
  try {
    return { ...(await start(parts)), close };
  } catch (error) {
    await close();
    throw error;
  }
}
