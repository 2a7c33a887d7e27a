/** fermata's proxy and scheduler in one process, as `npm start` has them, over a pool that is there already. */
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { nodeFlags } from '../../cli/node-flags.ts';
import { readyUrl, startProcess, untilReady, type RunningProcess } from '../overhead/processes.ts';
import type { ProcessPlace } from './simulated-pool.ts';

export interface GatewayConfig {
  readonly pool: readonly object[];
  readonly policy?: Readonly<Record<string, unknown>>;
  readonly callers?: Readonly<Record<string, { readonly weight: number }>>;
}

export interface Gateway extends RunningProcess {
  readonly url: string;
}

const entry = join(resolve(import.meta.dirname, '..', 'overhead'), 'fermata-main.ts');

/** @param name of its log. @throws SetupFault when it does not come up, or knows no healthy replica. */
export async function startGateway(
  name: string,
  config: GatewayConfig,
  { workDir, environment }: ProcessPlace,
): Promise<Gateway> {
  const running = await startProcess({
    name,
    command: process.execPath,
    args: [...nodeFlags, '--import', import.meta.resolve('tsx'), entry, JSON.stringify(config)],
    environment,
    workDir,
  });
  try {
    const url = await readyUrl(running);
    await untilReady(running, async () => ((await allHealthy(url)) ? true : null));
    return { ...running, url };
  } catch (error) {
    await running.close();
    throw error;
  }
}

const readySchema = z.looseObject({
  dependencies: z.looseObject({ replicas: z.looseObject({ healthy: z.number(), of: z.number() }) }),
});

/** Of a proxy. The first turns must not meet a pool of which a part is not known yet. */
export async function allHealthy(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) });
  const { replicas } = readySchema.parse(await response.json()).dependencies;
  return response.ok && replicas.healthy === replicas.of;
}
