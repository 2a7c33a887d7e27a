/**
 * Simulated engines, and the tool server if it is wanted, in a process of their own: what is measured beside
 * them shares nothing with them but the machine.
 */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { startProcess, untilReady, type RunningProcess } from '../overhead/processes.ts';

/** As `poolSchema` of testkit/simulated-pool-main.ts has it. */
export interface PoolPlan {
  readonly engines: readonly (Readonly<Record<string, unknown>> & { readonly id: string })[];
  /** null: none. */
  readonly toolServer: Readonly<Record<string, unknown>> | null;
}

const readySchema = z.looseObject({
  ready: z.literal(true),
  engines: z.array(
    z.looseObject({
      id: z.string(),
      url: z.string(),
      model: z.string(),
      dialect: z.string(),
      kind: z.enum(['generative', 'one-shot']),
    }),
  ),
  toolServer: z.looseObject({ url: z.string() }).nullable(),
});

export type PoolEngine = z.infer<typeof readySchema>['engines'][number];

export interface SimulatedPool extends RunningProcess {
  readonly engines: readonly PoolEngine[];
  /** Ends in `/mcp`; null: none was wanted. */
  readonly toolServerUrl: string | null;
}

export interface ProcessPlace {
  readonly workDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const entry = resolve(import.meta.dirname, '..', '..', 'testkit', 'simulated-pool-main.ts');

/** @param name of its log; one for each pool of a benchmark. @throws SetupFault when it does not come up. */
export async function startSimulatedPool(
  name: string,
  plan: PoolPlan,
  { workDir, environment }: ProcessPlace,
): Promise<SimulatedPool> {
  const running = await startProcess({
    name,
    command: process.execPath,
    args: ['--import', import.meta.resolve('tsx'), entry, JSON.stringify(plan)],
    environment,
    workDir,
  });
  try {
    const ready = await untilReady(running, async () => await readyLine(join(workDir, `${name}.log`)));
    return { ...running, engines: ready.engines, toolServerUrl: ready.toolServer?.url ?? null };
  } catch (error) {
    await running.close();
    throw error;
  }
}

async function readyLine(path: string): Promise<z.infer<typeof readySchema> | null> {
  const line = (await readFile(path, 'utf8')).split('\n').find((one) => one.startsWith('{"ready":true'));
  return line?.endsWith('}') === true ? readySchema.parse(JSON.parse(line)) : null;
}

/** Entries of a configuration file for these engines. */
export function replicasOf(engines: readonly PoolEngine[]): readonly object[] {
  return engines.map(({ id, url, dialect, kind, model }) => ({
    id,
    url,
    kind,
    engine: dialect,
    models: [model],
  }));
}
