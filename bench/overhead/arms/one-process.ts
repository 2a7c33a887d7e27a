/** An arm that is one Node process, which prints its address when it is ready. */
import { readyUrl, startProcess } from '../processes.ts';
import { untilAnswering } from './answers.ts';
import type { ArmName, ArmSite, RunningArm } from './arm.ts';

export interface OneProcess {
  /** Path of the program. */
  readonly entry: string;
  readonly argument: string;
  /** Flags for Node, as its users have them. */
  readonly nodeArgs?: readonly string[];
}

/** The folder it runs in is not the checkout, where `tsx` alone could be resolved. */
export const loader = ['--import', import.meta.resolve('tsx')];

export async function startOneProcess(
  site: ArmSite,
  name: ArmName,
  { entry, argument, nodeArgs = [] }: OneProcess,
): Promise<RunningArm> {
  const started = await startProcess({
    name,
    command: process.execPath,
    args: [...nodeArgs, ...loader, entry, argument],
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
