/**
 * What is measured: fermata as `npm start` runs it (Temporal, and the four services in one process) on a
 * pool and a tool server that live in this process, so that it is seen when each of them was asked and
 * when it had answered. Temporal's program is the checkout's own; everything else is new and goes at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { startSimEngine, type SimEngine } from '../../testkit/sim-engine/host.ts';
import { startToolServer, type ToolServer } from '../../testkit/tool-server/host.ts';
import { connectModern, type ToolClient } from '../mcp-clients.ts';
import { startStackProcess } from '../site/stack.ts';

export interface Site {
  readonly engines: readonly SimEngine[];
  readonly tools: ToolServer;
  readonly client: ToolClient;
  readonly mcpUrl: string;
  readonly temporal: Client;
  /** Of the processes that carry runs out, by name. */
  readonly pids: Readonly<Record<string, number>>;
  /** What a further worker needs in its environment to take its share of the same runs. */
  readonly workerEnvironment: Readonly<Record<string, string | undefined>>;
  /** Gone after the run. */
  readonly workDir: string;
  close(): Promise<void>;
}

export interface SiteOptions {
  /** Each service is a process of its own. */
  readonly separate?: boolean;
  /** host:port of the Temporal to run on; absent: one of its own. */
  readonly temporalAddress?: string | undefined;
}

/** Enough memory and places for all runs side by side: held turns are not what is measured here. */
const engine = { totalBlocks: 65_536, maxRunning: 256 };
/** A lookup takes some 20 ms, a deep search some 90. */
const toolDelayScale = 0.02;
/** Of each engine; a window has some thousand turns. */
const keptRequests = 20_000;

/** @throws SetupFault when a part cannot be had or started; then nothing is left running. */
export async function startSite(
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
  { separate = false, temporalAddress }: SiteOptions = {},
): Promise<Site> {
  const running: Closable[] = [];
  const keep = <T extends Closable>(part: T): T => {
    running.push(part);
    return part;
  };
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    closing ??= closeInReverse(running);
    await closing;
  };
  try {
    const workDir = await mkdtemp(join(tmpdir(), 'fermata-steps-'));
    keep({ close: async () => await rm(workDir, { recursive: true, force: true }) });
    const engines = [];
    for (const _ of [1, 2]) engines.push(keep(await startSimEngine({ engine, maxRecords: keptRequests })));
    const tools = keep(await startToolServer({ delayScale: toolDelayScale }));
    const config = configOf({ engines, tools });
    const stack = keep(
      await startStackProcess({ config, separate, workDir, environment, temporalAddress, progress }),
    );
    const { temporal } = stack;
    const connection = keep(await Connection.connect({ address: temporal.address }));
    return {
      engines,
      tools,
      temporal: new Client({ connection, namespace: temporal.namespace }),
      client: keep(await connectModern(stack.mcpUrl)),
      mcpUrl: stack.mcpUrl,
      pids: stack.pids,
      workerEnvironment: stack.workerEnvironment,
      workDir,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Served {
  readonly engines: readonly SimEngine[];
  readonly tools: ToolServer;
}

function configOf({ engines, tools }: Served): object {
  return {
    pool: engines.map(({ url, model }, index) => ({
      id: `sim-${index}`,
      url,
      engine: 'vllm',
      models: [model],
    })),
    tools: { mcpServers: { demo: { url: tools.url } } },
  };
}
