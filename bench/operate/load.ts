/** Durable runs and agents with loops of their own at the same time, and everything that is seen of them. */
import { runClient } from '../durability/client.ts';
import { Recorder } from '../durability/recorder.ts';
import { agentOfTask, type AgentShape } from './agent-plan.ts';
import { startAgents, type RunningAgents } from './agents.ts';
import type { Cluster } from './cluster.ts';
import { openMcpDoor, type McpDoor } from './mcp-door.ts';

export interface LoadOptions {
  readonly seed: number;
  readonly clients: number;
  readonly agents: number;
  readonly shape: AgentShape;
  readonly keepAlive: boolean;
  /** Waited for before each run of a client, and before each turn of an agent. */
  readonly pace?: { readonly runs: () => Promise<void>; readonly turns: () => Promise<void> };
}

export interface Load {
  readonly recorder: Recorder;
  readonly agents: RunningAgents;
  readonly mcp: McpDoor;
  /** How often an engine was asked for each turn of an agent, by `run:turn`. */
  readonly asked: ReadonlyMap<string, number>;
  /** No further runs; resolves when those under way have ended, or are given up. */
  finish(limitMs: number): Promise<void>;
}

const collectEveryMs = 100;
/** A client hears nothing of a stream whose server is gone: it waits, and asks again. */
const callTimeoutMs = 20_000;

export function startLoad(cluster: Cluster, options: LoadOptions): Load {
  const asked = new Map<string, number>();
  const recorder = new Recorder({
    engines: cluster.engines,
    tools: cluster.tools,
    others: (task, turn) => {
      const agent = agentOfTask(task);
      if (agent === null) return;
      const key = `${agent}:${turn}`;
      asked.set(key, (asked.get(key) ?? 0) + 1);
    },
  });
  const collecting = setInterval(() => recorder.collect(), collectEveryMs);
  const mcp = openMcpDoor(cluster.of('mcp-server'));
  const agents = startAgents({
    ...options,
    proxies: cluster.of('proxy'),
    model: cluster.model,
    ...(options.pace === undefined ? {} : { mayGoOn: options.pace.turns }),
  });
  const giveUp = new AbortController();
  let finishing = false;
  let next = 0;
  const deps = {
    connect: mcp.connect,
    callTimeoutMs,
    recorder,
    seed: options.seed,
    giveUp: giveUp.signal,
    nextIndex: (): number | null => {
      if (finishing) return null;
      next += 1;
      return next - 1;
    },
    ...(options.pace === undefined ? {} : { mayGoOn: options.pace.runs }),
  };
  const clients = Promise.all(Array.from({ length: options.clients }, async () => await runClient(deps)));
  clients.catch(() => undefined);
  return {
    recorder,
    agents,
    mcp,
    asked,
    async finish(limitMs) {
      finishing = true;
      const timer = setTimeout(() => giveUp.abort(), limitMs);
      try {
        await Promise.all([clients, agents.finish()]);
      } finally {
        clearTimeout(timer);
        clearInterval(collecting);
        await mcp.close();
      }
    },
  };
}

/** Turns of agents that an engine was asked for more often than an agent asked for them. */
export function doubledAsks(
  asked: ReadonlyMap<string, number>,
  sent: ReadonlyMap<string, number>,
): readonly string[] {
  return [...asked].filter(([key, count]) => count > (sent.get(key) ?? 0)).map(([key]) => key);
}
