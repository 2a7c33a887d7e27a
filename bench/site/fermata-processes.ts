/**
 * fermata's scheduler and proxy, each a process of its own, started by its `main.ts` as a deployment does:
 * default settings, default log, which goes to a file.
 */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { nodeFlags } from '../../cli/node-flags.ts';
import { readyUrl, startProcess, type RunningProcess } from '../overhead/processes.ts';
import type { ProcessPlace } from './simulated-pool.ts';

export interface FermataOptions {
  /** Arguments for Node, such as a module to load first. */
  readonly nodeArgs?: readonly string[];
  /** Added to each process's environment. */
  readonly environment?: (name: 'scheduler' | 'proxy') => Readonly<Record<string, string>>;
}

export type Service = RunningProcess & { readonly url: string };

export interface FermataProcesses {
  readonly scheduler: Service;
  readonly proxy: Service;
  close(): Promise<void>;
}

const root = resolve(import.meta.dirname, '..', '..');
/** The folder they run in is not the checkout, where `tsx` alone could be resolved. */
const loader = ['--import', import.meta.resolve('tsx')];

/**
 * Resolves when both say that they are ready; whether replicas are known is not looked at.
 * @param config as in `fermata.yaml`. @throws SetupFault when one does not come up.
 */
export async function startFermataServices(
  config: object,
  { workDir, environment }: ProcessPlace,
  options: FermataOptions = {},
): Promise<FermataProcesses> {
  const running: Closable[] = [];
  const configPath = join(workDir, 'fermata.yaml');
  // JSON is YAML.
  await writeFile(configPath, JSON.stringify(config));
  const start = async (
    name: 'scheduler' | 'proxy',
    entry: string,
    own: Record<string, string>,
  ): Promise<Service> => {
    const started = await startProcess({
      name: `fermata-${name}`,
      command: process.execPath,
      args: [...nodeFlags, ...(options.nodeArgs ?? []), ...loader, join(root, entry)],
      environment: { ...environment, ...own, ...options.environment?.(name) },
      workDir,
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
    return { scheduler, proxy, close };
  } catch (error) {
    await close();
    throw error;
  }
}
