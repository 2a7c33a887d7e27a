/**
 * fermata in both ways that it is run: proxy and scheduler in one process, as `npm start` has them, and
 * each a process of its own, started by its `main.ts`. Default settings, default log, which goes to a file.
 */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { closeInReverse, type Closable } from '../../../cli/close-in-reverse.ts';
import { nodeFlags } from '../../../cli/node-flags.ts';
import { readyUrl, startProcess, type RunningProcess } from '../processes.ts';
import { untilAnswering } from './answers.ts';
import type { ArmSite, RunningArm } from './arm.ts';
import { loader, startOneProcess } from './one-process.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');

const onePiece = join(resolve(import.meta.dirname, '..'), 'fermata-main.ts');

function replicaAt(engineUrl: string, maxConcurrent?: number): object {
  const replica = { id: 'bench', url: engineUrl, engine: 'vllm' };
  return maxConcurrent === undefined ? replica : { ...replica, maxConcurrent };
}

export async function startFermata(site: ArmSite): Promise<RunningArm> {
  const config = JSON.stringify({ pool: [replicaAt(site.engineUrl)] });
  return await startOneProcess(site, 'fermata', { entry: onePiece, argument: config, nodeArgs: nodeFlags });
}

export interface FermataOptions {
  /** Most turns in flight at once on the engine; absent: what the engine's own metrics say. */
  readonly maxConcurrent?: number;
  /** Arguments for Node, such as a module to load first. */
  readonly nodeArgs?: readonly string[];
  /** Added to each process's environment. */
  readonly environment?: (name: 'scheduler' | 'proxy') => Readonly<Record<string, string>>;
}

export interface RunningFermata extends RunningArm {
  readonly scheduler: RunningProcess & { readonly url: string };
  readonly proxy: RunningProcess & { readonly url: string };
}

export async function startFermataProcesses(
  site: ArmSite,
  options: FermataOptions = {},
): Promise<RunningFermata> {
  const running: Closable[] = [];
  const configPath = join(site.workDir, 'fermata.yaml');
  // JSON is YAML.
  await writeFile(configPath, JSON.stringify({ pool: [replicaAt(site.engineUrl, options.maxConcurrent)] }));
  const start = async (
    name: 'scheduler' | 'proxy',
    entry: string,
    own: Record<string, string>,
  ): Promise<RunningProcess & { url: string }> => {
    const started = await startProcess({
      name: `fermata-${name}`,
      command: process.execPath,
      args: [...nodeFlags, ...(options.nodeArgs ?? []), ...loader, join(root, entry)],
      environment: { ...site.environment, ...own, ...options.environment?.(name) },
      workDir: site.workDir,
    });
    running.push(started);
    return { ...started, url: await readyUrl(started) };
  };
  const close = async (): Promise<void> => await closeInReverse(running);
  try {
    const scheduler = await start('scheduler', 'scheduler/host/main.ts', {
      FERMATA_CONFIG: configPath,
      FERMATA_SCHEDULER_PORT: '0',
    });
    const proxy = await start('proxy', 'proxy/main.ts', {
      FERMATA_PROXY_PORT: '0',
      FERMATA_SCHEDULER_URL: scheduler.url,
    });
    const target = { url: proxy.url, headers: {} };
    await untilAnswering(proxy, target);
    const processes = [proxy, scheduler];
    return { name: 'fermata-separate', target, processes, version: null, scheduler, proxy, close };
  } catch (error) {
    await close();
    throw error;
  }
}
