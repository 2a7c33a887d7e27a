/**
 * fermata in both ways that it is run: proxy and scheduler in one process, as `npm start` has them, and
 * each a process of its own, started by its `main.ts`. Default settings, default log, which goes to a file.
 */
import { join, resolve } from 'node:path';
import { nodeFlags } from '../../../cli/node-flags.ts';
import {
  startFermataServices,
  type FermataOptions as ProcessOptions,
  type Service,
} from '../../site/fermata-processes.ts';
import { untilAnswering } from './answers.ts';
import type { ArmSite, RunningArm } from './arm.ts';
import { startOneProcess } from './one-process.ts';

const onePiece = join(resolve(import.meta.dirname, '..'), 'fermata-main.ts');

function replicaAt(engineUrl: string, maxConcurrent?: number): object {
  const replica = { id: 'bench', url: engineUrl, engine: 'vllm' };
  return maxConcurrent === undefined ? replica : { ...replica, maxConcurrent };
}

export async function startFermata(site: ArmSite): Promise<RunningArm> {
  const config = JSON.stringify({ pool: [replicaAt(site.engineUrl)] });
  return await startOneProcess(site, 'fermata', { entry: onePiece, argument: config, nodeArgs: nodeFlags });
}

export interface FermataOptions extends ProcessOptions {
  /** Most turns in flight at once on the engine; absent: what the engine's own metrics say. */
  readonly maxConcurrent?: number;
}

export interface RunningFermata extends RunningArm {
  readonly scheduler: Service;
  readonly proxy: Service;
}

export async function startFermataProcesses(
  site: ArmSite,
  options: FermataOptions = {},
): Promise<RunningFermata> {
  const config = { pool: [replicaAt(site.engineUrl, options.maxConcurrent)] };
  const { scheduler, proxy, close } = await startFermataServices(config, site, options);
  try {
    const target = { url: proxy.url, headers: {} };
    await untilAnswering(proxy, target);
    const processes = [proxy, scheduler];
    return { name: 'fermata-separate', target, processes, version: null, scheduler, proxy, close };
  } catch (error) {
    await close();
    throw error;
  }
}
