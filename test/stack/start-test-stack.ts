/**
 * fermata's services over engines and tools that live in the test's own process, so that a test sees what
 * reached them; Temporal is the one shared by all end-to-end tests. Everything on free ports.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { inject } from 'vitest';
import { connectModern, type ToolClient } from '../../bench/mcp-clients.ts';
import { startStack, type Stack } from '../../cli/embedded-stack.ts';
import { openConfig } from '../../config/live-config.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { schedulerStatusSchema, type SchedulerStatus } from '../../contracts/scheduler-status.ts';
import { parseSettings } from '../../contracts/settings.ts';
import { startSimEngine, type SimEngine, type SimEngineOptions } from '../../testkit/sim-engine/host.ts';
import { startToolServer, type ToolServer, type ToolServerOptions } from '../../testkit/tool-server/host.ts';

export interface TestStack extends Stack {
  readonly engines: readonly SimEngine[];
  readonly tools: ToolServer;
  readonly client: ToolClient;
  /** The file it runs with, and what is in it, as JSON; written anew, it is followed (`fromFile`). */
  readonly file: { readonly path: string; readonly content: Readonly<Record<string, unknown>> };
  status(): Promise<SchedulerStatus>;
}

export interface TestStackOptions {
  /** Of a server of the test's own, where no other test's runs are; default: the one shared by all. */
  readonly temporalAddress?: string;
  /** One entry an engine; default two, ten times faster than real ones. */
  readonly engines?: readonly SimEngineOptions[];
  /** Real milliseconds for one of a tool's. Default 0.05. */
  readonly toolDelayScale?: number;
  /** Added to the entry of every replica. */
  readonly replica?: Readonly<Record<string, unknown>>;
  /** Of all its services, such as where they export traces. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Told of what the tool server gets. */
  readonly onToolMessage?: NonNullable<ToolServerOptions['onMessage']>;
  /** Where its services log to; default: nowhere. */
  readonly logger?: Logger;
  /** Headers for the tool server, and further servers. */
  readonly toolHeaders?: Readonly<Record<string, string>>;
  readonly moreToolServers?: Readonly<Record<string, unknown>>;
  /** Follow the file of its configuration. */
  readonly fromFile?: boolean;
}

const fastEngine: SimEngineOptions = { timeScale: 0.1 };

export const anyPort = Object.fromEntries(
  ['PROXY', 'MCP', 'SCHEDULER', 'WORKER', 'TEMPORAL', 'TEMPORAL_UI'].map((name) => [
    `FERMATA_${name}_PORT`,
    '0',
  ]),
);

export async function startTestStack(options: TestStackOptions = {}): Promise<TestStack> {
  const engines = await Promise.all((options.engines ?? [fastEngine, fastEngine]).map(startSimEngine));
  const tools = await startToolServer({
    delayScale: options.toolDelayScale ?? 0.05,
    ...(options.onToolMessage === undefined ? {} : { onMessage: options.onToolMessage }),
  });
  const stateDir = await mkdtemp(join(tmpdir(), 'fermata-stack-'));
  const content = {
    pool: engines.map((engine, index) => ({
      id: `sim-${index}`,
      url: engine.url,
      engine: 'vllm',
      ...options.replica,
    })),
    tools: {
      mcpServers: {
        web: { url: tools.url, headers: options.toolHeaders ?? {} },
        ...options.moreToolServers,
      },
    },
  };
  const file = { path: join(stateDir, 'fermata.yaml'), content };
  await writeFile(file.path, JSON.stringify(content));
  const logger = options.logger ?? pino({ level: 'silent' });
  const live = options.fromFile === true ? await openConfig(file.path, { logger }) : null;
  const stack = await startStack({
    settings: parseSettings({
      ...anyPort,
      FERMATA_STATE_DIR: stateDir,
      FERMATA_TASK_QUEUE: `test-${randomBytes(6).toString('hex')}`,
    }),
    environment: options.environment ?? {},
    temporal: { address: options.temporalAddress ?? inject('temporalAddress'), namespace: 'default' },
    workflowBundle: { codePath: inject('workflowBundlePath') },
    config: configFileSchema.parse(content),
    ...(live === null ? {} : { live }),
    engine: 'simulated',
    separate: false,
    logger,
    progress: () => {},
  });
  const client = await connectModern(stack.mcpUrl);
  return {
    ...stack,
    engines,
    tools,
    client,
    file,
    status: async () =>
      schedulerStatusSchema.parse(await (await fetch(`${stack.schedulerUrl}/status`)).json()),
    close: async () => {
      live?.close();
      await client.close();
      await stack.close();
      await Promise.all(engines.map(async (engine) => await engine.close()));
      await tools.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
