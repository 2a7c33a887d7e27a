/** An arm that is one Node process, which prints its address when it is ready. */
import { readyUrl, startProcess } from '../processes.ts';
import { untilAnswering } from './answers.ts';
import type { ArmName, ArmSite, RunningArm } from './arm.ts';

/** The folder it runs in is not the checkout, where `tsx` alone could be resolved. */
export const loader = ['--import', import.meta.resolve('tsx')];

/** @param entry path of the program. */
export async function startOneProcess(
  site: ArmSite,
  name: ArmName,
  entry: string,
  argument: string,
): Promise<RunningArm> {
  const started = await startProcess({
    name,
    command: process.execPath,
    args: [...loader, entry, argument],
    environment: site.environment,
    workDir: site.workDir,
  });
  try {
    const target = { url: await readyUrl(started), headers: {} };
    await untilAnswering(started, target);
    return {
      name,
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
