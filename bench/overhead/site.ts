/** What every measurement needs under it: a folder, the engine, the load generator. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import type { ArmSite } from './arms/arm.ts';
import { startLoadGenerator, type LoadGenerator } from './load-generator.ts';
import { readyUrl, startProcess } from './processes.ts';

export interface OverheadSite extends ArmSite {
  readonly enginePid: number;
  readonly load: LoadGenerator;
  close(): Promise<void>;
}

export async function startSite(
  environment: Readonly<Record<string, string | undefined>>,
  progress: Progress,
): Promise<OverheadSite> {
  const workDir = await mkdtemp(join(tmpdir(), 'fermata-overhead-'));
  // Also when this process is interrupted.
  process.once('exit', () => rmSync(workDir, { recursive: true, force: true }));
  const parts: Closable[] = [{ close: async () => await rm(workDir, { recursive: true, force: true }) }];
  const close = async (): Promise<void> => await closeInReverse(parts);
  const clean = Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith('FERMATA_')),
  );
  try {
    const engine = await startProcess({
      name: 'engine',
      command: process.execPath,
      args: ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, 'engine-main.ts')],
      environment: clean,
      workDir,
    });
    parts.push(engine);
    const engineUrl = await readyUrl(engine);
    const load = await startLoadGenerator();
    parts.push(load);
    const toolsDir = resolve(import.meta.dirname, '..', '..', '.fermata');
    return { engineUrl, enginePid: engine.pid, load, workDir, toolsDir, environment: clean, progress, close };
  } catch (error) {
    await close();
    throw error;
  }
}
