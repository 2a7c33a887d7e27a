/**
 * What is measured: fermata as `npm start` runs it (Temporal, and the four services in one process) on a
 * pool and a tool server that live in this process, so that it is seen when each of them was asked and
 * when it had answered. Temporal's program is the checkout's own; everything else is new and goes at the end.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { startChild } from '../../cli/child-process.ts';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { ensureTemporalBinary } from '../../cli/setup/temporal-binary.ts';
import { startSimEngine, type SimEngine } from '../../testkit/sim-engine/host.ts';
import { startToolServer, type ToolServer } from '../../testkit/tool-server/host.ts';
import { connectModern, type ToolClient } from '../mcp-clients.ts';

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

const configName = 'fermata.json';
const root = resolve(import.meta.dirname, '..', '..');

/** Enough memory and places for all runs side by side: held turns are not what is measured here. */
const engine = { totalBlocks: 65_536, maxRunning: 256 };
/** A lookup takes some 20 ms, a deep search some 90. */
const toolDelayScale = 0.02;
/** Of each engine; a window has some thousand turns. */
const keptRequests = 20_000;

const readySchema = z.looseObject({
  mcpUrl: z.string(),
  proxyUrl: z.string(),
  taskQueue: z.string(),
  pid: z.number(),
  pids: z.record(z.string(), z.number()),
  temporal: z.looseObject({ address: z.string(), namespace: z.string() }),
});

/** @throws SetupFault when a part cannot be had or started; then nothing is left running. */
export async function startSite(
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
  { separate = false }: { readonly separate?: boolean } = {},
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
    const parts = { workDir, engines, tools, environment, progress, separate };
    const ready = await startProduct(parts, keep);
    const connection = keep(await Connection.connect({ address: ready.temporal.address }));
    return {
      engines,
      tools,
      temporal: new Client({ connection, namespace: ready.temporal.namespace }),
      client: keep(await connectModern(ready.mcpUrl)),
      mcpUrl: ready.mcpUrl,
      pids: { services: ready.pid, ...ready.pids },
      workerEnvironment: {
        ...withoutSettings(environment),
        FERMATA_CONFIG: join(workDir, configName),
        FERMATA_STATE_DIR: join(workDir, 'state'),
        FERMATA_WORKER_PORT: '0',
        FERMATA_PROXY_URL: ready.proxyUrl,
        FERMATA_TASK_QUEUE: ready.taskQueue,
        TEMPORAL_ADDRESS: ready.temporal.address,
        TEMPORAL_NAMESPACE: ready.temporal.namespace,
      },
      workDir,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface ProductParts {
  readonly workDir: string;
  readonly engines: readonly SimEngine[];
  readonly tools: ToolServer;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly progress: (line: string) => void;
  /** Each service is a process of its own. */
  readonly separate: boolean;
}

async function startProduct(parts: ProductParts, keep: <T extends Closable>(part: T) => T) {
  const { workDir, environment } = parts;
  const separate = parts.separate ? ['--separate'] : [];
  const path = environment['PATH'] ?? '';
  const binary = await ensureTemporalBinary(join(root, '.fermata'), path, parts.progress);
  const configPath = join(workDir, configName);
  await writeFile(configPath, JSON.stringify(configOf(parts)));
  parts.progress('starting fermata ...');
  const child = keep(
    await startChild({
      name: 'fermata',
      command: process.execPath,
      args: [join(root, 'scripts', 'start.mjs'), '--json', '--config', configPath, ...separate],
      environment: {
        ...withoutSettings(environment),
        PATH: `${dirname(binary)}${delimiter}${path}`,
        FERMATA_STATE_DIR: join(workDir, 'state'),
        ...Object.fromEntries(
          ['PROXY', 'MCP', 'SCHEDULER', 'WORKER', 'TEMPORAL', 'TEMPORAL_UI'].map((name) => [
            `FERMATA_${name}_PORT`,
            '0',
          ]),
        ),
      },
      logPath: join(workDir, 'fermata.log'),
      ready: /^\{"ready":true.*\}$/,
      stopTimeoutMs: 60_000,
    }),
  );
  return readySchema.parse(JSON.parse(child.readyMatch[0]));
}

function configOf({ engines, tools }: ProductParts): object {
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

/** Whoever measures may have settings and a cluster of their own. */
function withoutSettings(environment: ProductParts['environment']): ProductParts['environment'] {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^(FERMATA|TEMPORAL)_/.test(name)),
  );
}
