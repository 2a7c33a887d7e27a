/**
 * fermata whole, as `npm start` runs it, over engines and tools that are there already: Temporal, and the four
 * services in one process, or each in its own. Temporal's program is the checkout's own; everything else is new
 * and goes at the end.
 */
import { writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { startChild } from '../../cli/child-process.ts';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import { ensureTemporalBinary } from '../../cli/setup/temporal-binary.ts';
import { endWithThisProcess } from './end-with-this-process.ts';
import { bringBundle } from './known-bundle.ts';
import { toolsDir, withoutSettings } from './work-dir.ts';

export interface StackPlan {
  /** As in `fermata.yaml`. */
  readonly config: object;
  /** Each service is a process of its own. */
  readonly separate: boolean;
  /** For its configuration, its state and its log. */
  readonly workDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** host:port of the server to run on; absent: one of its own. */
  readonly temporalAddress?: string | undefined;
  readonly progress: Progress;
}

const readySchema = z.looseObject({
  mcpUrl: z.string(),
  proxyUrl: z.string(),
  taskQueue: z.string(),
  pid: z.number(),
  pids: z.record(z.string(), z.number()),
  temporal: z.looseObject({ address: z.string(), namespace: z.string() }),
});

export interface StackProcess {
  readonly mcpUrl: string;
  readonly proxyUrl: string;
  readonly temporal: { readonly address: string; readonly namespace: string };
  /** Of the processes that carry runs out, by name. */
  readonly pids: Readonly<Record<string, number>>;
  /** What a further worker needs in its environment to take its share of the same runs. */
  readonly workerEnvironment: Readonly<Record<string, string | undefined>>;
  close(): Promise<void>;
}

const root = resolve(import.meta.dirname, '..', '..');
const stopTimeoutMs = 60_000;
const services = ['PROXY', 'MCP', 'SCHEDULER', 'WORKER', 'TEMPORAL', 'TEMPORAL_UI'];

/** @throws SetupFault when it does not come up; then nothing is left running. */
export async function startStackProcess(plan: StackPlan): Promise<StackProcess> {
  const { workDir, progress } = plan;
  const clean = withoutSettings(plan.environment);
  const path = clean['PATH'] ?? '';
  const binary = await ensureTemporalBinary(toolsDir, path, progress);
  const configPath = join(workDir, 'fermata.json');
  await writeFile(configPath, JSON.stringify(plan.config));
  progress('starting fermata ...');
  const stateDir = join(workDir, 'state');
  await bringBundle(stateDir);
  const child = await startChild({
    name: 'fermata',
    command: process.execPath,
    args: [join(root, 'scripts', 'start.mjs'), '--json', '--config', configPath].concat(
      plan.separate ? ['--separate'] : [],
    ),
    environment: {
      ...clean,
      PATH: `${dirname(binary)}${delimiter}${path}`,
      FERMATA_STATE_DIR: stateDir,
      ...(plan.temporalAddress === undefined ? {} : { TEMPORAL_ADDRESS: plan.temporalAddress }),
      ...Object.fromEntries(services.map((name) => [`FERMATA_${name}_PORT`, '0'])),
    },
    logPath: join(workDir, 'fermata.log'),
    ready: /^\{"ready":true.*\}$/,
    stopTimeoutMs,
    onSpawn: (starting) => endWithThisProcess(starting, 'SIGTERM'),
  });
  const { temporal, pid, pids, mcpUrl, proxyUrl, taskQueue } = readySchema.parse(
    JSON.parse(child.readyMatch[0]),
  );
  return {
    mcpUrl,
    proxyUrl,
    temporal,
    pids: { services: pid, ...pids },
    workerEnvironment: {
      ...clean,
      FERMATA_CONFIG: configPath,
      FERMATA_STATE_DIR: stateDir,
      FERMATA_WORKER_PORT: '0',
      FERMATA_PROXY_URL: proxyUrl,
      FERMATA_TASK_QUEUE: taskQueue,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
    },
    close: async () => await child.close(),
  };
}
