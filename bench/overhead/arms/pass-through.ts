/** A gateway that does nothing: the floor for every gateway on Node on this machine. Has no bar. */
import { join, resolve } from 'node:path';
import { readyUrl, startProcess } from '../processes.ts';
import { untilAnswering } from './answers.ts';
import type { ArmSite, RunningArm } from './arm.ts';

const entry = join(resolve(import.meta.dirname, '..'), 'pass-through-main.ts');

export async function startPassThrough(site: ArmSite): Promise<RunningArm> {
  const started = await startProcess({
    name: 'pass-through',
    command: process.execPath,
    args: ['--import', import.meta.resolve('tsx'), entry, site.engineUrl],
    environment: site.environment,
    workDir: site.workDir,
  });
  try {
    const target = { url: await readyUrl(started), headers: {} };
    await untilAnswering(started, target);
    return {
      name: 'pass-through',
      target,
      processes: [started],
      version: null,
      close: async () => await started.close(),
    };
  } catch (error) {
    await started.close();
    throw error;
  }
}
