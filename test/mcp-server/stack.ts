/**
 * What the end-to-end tests of this folder stand on: every part of the way, each the real one: Temporal,
 * worker, scheduler, proxy, tool server, and an engine whose words and whose pace are in the test's hand.
 */
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { createWorker, type FermataWorker, type WorkerConfig } from '../../activities/create-worker.ts';
import { openAccess, type Access } from '../../auth/access.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import {
  createMcpServer,
  type McpServerConfig,
  type McpServerHandle,
} from '../../mcp-server/create-mcp-server.ts';
import { createProxy } from '../../proxy/create-proxy.ts';
import { createScheduler } from '../../scheduler/host/create-scheduler.ts';
import type { HeldStream } from '../../testkit/sim-engine/holds.ts';
import { startSimEngine, type SimEngine } from '../../testkit/sim-engine/host.ts';
import { startToolServer, type ToolServer } from '../../testkit/tool-server/host.ts';

export interface StackOptions {
  readonly temporalAddress: string;
  readonly workflowBundlePath: string;
  /** Who is let in at every door; absent: everyone. */
  readonly access?: Access;
  /** The model takes images. */
  readonly images?: boolean;
}

/** A task whose end the test decides. */
export interface HeldTask {
  /** Looks something up, says `so far` beside it, then waits with its answer. */
  readonly task: string;
  /** Resolves when its last turn is at the engine. */
  readonly held: Promise<unknown>;
  release(): void;
}

export interface Stack {
  readonly temporal: Client;
  readonly server: McpServerHandle;
  /** The one that the stack starts with. */
  readonly worker: FermataWorker;
  readonly workerConfig: WorkerConfig;
  readonly mcpUrl: string;
  readonly proxyUrl: string;
  readonly schedulerUrl: string;
  readonly config: McpServerConfig;
  readonly model: string;
  readonly engine: SimEngine;
  /** Its tools are `desk__lookup` and so on. */
  readonly tools: ToolServer;
  /** Another server on the same runs. */
  startServer(over?: Partial<McpServerConfig>): Promise<McpServerHandle>;
  /** Another worker on the same task queue, such as one on another Temporal server. */
  startWorker(temporalAddress: string): Promise<FermataWorker>;
  /** A task that ends at once with `answer`. */
  saying(answer: string): string;
  /** A task that looks something up first: two turns and a tool call. */
  lookingUp(answer: string): string;
  holding(answer: string): HeldTask;
  /** Sum of all samples of a metric of a server; default: the first one. */
  metric(name: string, server?: McpServerHandle): Promise<number>;
  close(): Promise<void>;
}

const logger = pino({ level: 'silent' });
const host = '127.0.0.1';

function directed(directive: Record<string, unknown>, words = 'do it'): string {
  return `${words} [[sim ${JSON.stringify(directive)}]]`;
}

export async function startStack(options: StackOptions): Promise<Stack> {
  const { access = openAccess } = options;
  const running: { close(): Promise<void> }[] = [];
  const keep = <T extends { close(): Promise<void> }>(part: T): T => {
    running.push(part);
    return part;
  };
  const engine = keep(await startSimEngine({ timeScale: 0.01, engine: { maxContextTokens: 400_000 } }));
  const tools = keep(await startToolServer({ delayScale: 0.01 }));
  const file = configFileSchema.parse({
    pool: [{ id: 'sim', url: engine.url, engine: 'vllm', images: options.images ?? false }],
    tools: { mcpServers: { desk: { url: tools.url } } },
  });
  const { pool, policy, callers } = file;
  const scheduler = keep(
    await createScheduler(
      { host, port: 0, pool, policy, callers, probeIntervalMs: 200 },
      { logger, environment: {}, access },
    ),
  );
  const proxy = keep(
    await createProxy({ host, port: 0, schedulerUrl: scheduler.url }, { logger, environment: {}, access }),
  );
  const taskQueue = `mcp-server-${randomUUID()}`;
  const workerConfig: WorkerConfig = {
    host,
    port: 0,
    temporal: { address: options.temporalAddress, namespace: 'default' },
    taskQueue,
    proxyUrl: proxy.url,
    token: access.serviceToken,
    toolServers: file.tools.mcpServers,
    workflowBundle: { codePath: options.workflowBundlePath },
  };
  const startWorker = async (address: string): Promise<FermataWorker> =>
    keep(await createWorker({ ...workerConfig, temporal: { address, namespace: 'default' } }, { logger }));
  const worker = await startWorker(options.temporalAddress);
  const connection = keep(await Connection.connect({ address: options.temporalAddress }));
  const config: McpServerConfig = {
    host,
    port: 0,
    temporal: { address: options.temporalAddress, namespace: 'default' },
    taskQueue,
    proxyUrl: proxy.url,
    schedulerUrl: scheduler.url,
    progressMs: 50,
  };
  const startServer = async (over: Partial<McpServerConfig> = {}): Promise<McpServerHandle> =>
    keep(await createMcpServer({ ...config, ...over }, { logger, access }));
  const server = await startServer();
  return {
    temporal: new Client({ connection }),
    server,
    worker,
    workerConfig,
    mcpUrl: `${server.url}/mcp`,
    proxyUrl: proxy.url,
    schedulerUrl: scheduler.url,
    config,
    model: engine.model,
    engine,
    tools,
    startServer,
    startWorker,
    saying: (answer) => directed({ calls: [], answer }),
    lookingUp: (answer) => directed({ calls: ['lookup'], answer }),
    holding(answer) {
      const name = randomUUID();
      const stream: HeldStream = engine.holdNext(({ body }) => {
        const text = JSON.stringify(body);
        return text.includes(name) && text.includes('"role":"tool"');
      });
      return {
        task: directed({ calls: ['lookup'], preface: 'so far', answer }, `do ${name}`),
        held: stream.arrived,
        release: () => stream.releaseAll(),
      };
    },
    metric: async (name, of = server) => await readMetric(of, name),
    async close() {
      for (const part of running.splice(0).toReversed()) await part.close();
    },
  };
}

async function readMetric(server: McpServerHandle, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const samples = text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
