/**
 * The pool an embedded stack runs on: the configured one, which is left alone, or one that is started
 * here: simulated engines, or SmolLM2 on llama.cpp, each with the fake tool server, in one child process.
 */
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { configFileSchema, type ConfigFile } from '../contracts/config-file.ts';
import type { Settings } from '../contracts/settings.ts';
import { startLlamaCpp } from '../testkit/llamacpp/launch.ts';
import { startChild } from './child-process.ts';
import type { EngineChoice } from './engine-choices.ts';
import { ensureLlamaCppPython } from './setup/llamacpp-python.ts';
import type { Progress } from './setup/setup-fault.ts';

export interface PoolOptions {
  readonly settings: Settings;
  readonly stateDir: string;
  readonly toolsDir?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly config: ConfigFile | null;
  readonly engine: EngineChoice;
  readonly progress: Progress;
}

export interface RunningPool {
  /** What the services run on; addresses of what was started here filled in. */
  readonly config: ConfigFile;
  readonly engineUrls: readonly string[];
  readonly toolServerUrl: string | null;
  readonly children: readonly {
    readonly name: string;
    readonly pid: number;
    readonly exited: Promise<void>;
  }[];
  close(): Promise<void>;
}

/** @throws SetupFault when a part of the pool cannot be had or started. */
export async function startPool(options: PoolOptions): Promise<RunningPool> {
  if (options.config !== null) {
    return {
      config: options.config,
      engineUrls: [],
      toolServerUrl: null,
      children: [],
      close: async () => {},
    };
  }
  return options.engine === 'simulated' ? await startSimulatedPool(options) : await startSmolLm2(options);
}

const readySchema = z.looseObject({
  engines: z.array(
    z.looseObject({
      id: z.string(),
      url: z.string(),
      model: z.string(),
      dialect: z.string(),
      kind: z.string(),
    }),
  ),
  toolServer: z.looseObject({ url: z.string() }),
});

const simulatedEngines = [
  { id: 'sim-a' },
  { id: 'sim-b' },
  // So that `decide` without labels, embeddings, reranking and scores have somebody to ask.
  { id: 'sim-classifier', kind: 'one-shot', model: 'sim-classifier' },
];

async function startSimulatedPool(options: PoolOptions): Promise<RunningPool> {
  options.progress('starting two simulated engines, a one-shot one and the tool server ...');
  const { ready, child } = await startSimulatedParts(options, simulatedEngines);
  const config = configFileSchema.parse({
    pool: ready.engines.map(({ id, url, dialect, kind, model }) => ({
      id,
      url,
      kind,
      engine: dialect,
      models: [model],
    })),
    tools: { mcpServers: { demo: { url: ready.toolServer.url } } },
  });
  return {
    config,
    engineUrls: ready.engines.map(({ url }) => url),
    toolServerUrl: ready.toolServer.url,
    children: [child],
    close: async () => await child.close(),
  };
}

async function startSimulatedParts(options: PoolOptions, engines: readonly object[]) {
  const pool = {
    host: options.settings.host,
    engines,
    toolServer: { callLogPath: join(options.stateDir, 'tool-calls.jsonl') },
    closeWithStdin: true,
  };
  const child = await startChild({
    name: 'simulated-pool',
    command: process.execPath,
    args: ['--import', 'tsx', resolve(import.meta.dirname, '..', 'testkit', 'simulated-pool-main.ts')],
    environment: { ...options.environment, FERMATA_TOKEN: undefined, SIMULATED_POOL: JSON.stringify(pool) },
    logPath: join(options.stateDir, 'logs', 'simulated-pool.log'),
    ready: /^\{"ready":true.*\}$/,
  });
  return { child, ready: readySchema.parse(JSON.parse(child.readyMatch[0])) };
}

async function startSmolLm2(options: PoolOptions): Promise<RunningPool> {
  const { stateDir, toolsDir, progress } = options;
  const python = await ensureLlamaCppPython(toolsDir ?? stateDir, progress);
  progress('starting llama.cpp with SmolLM2-135M and the tool server ...');
  const { ready, child } = await startSimulatedParts(options, []);
  try {
    const engine = await startLlamaCpp({ python, logPath: join(stateDir, 'logs', 'llamacpp.log') });
    const config = configFileSchema.parse({
      pool: [{ id: 'smollm2', url: engine.url, engine: 'llamacpp', models: [engine.model] }],
      tools: { mcpServers: { demo: { url: ready.toolServer.url } } },
    });
    return {
      config,
      engineUrls: [engine.url],
      toolServerUrl: ready.toolServer.url,
      children: [child, { name: 'llamacpp', pid: engine.pid, exited: engine.exited }],
      close: async () => {
        await engine.close();
        await child.close();
      },
    };
  } catch (error) {
    await child.close();
    throw error;
  }
}
