/** A gateway that does nothing: the floor for every gateway on Node on this machine. Has no bar. */
import { join, resolve } from 'node:path';
import type { ArmSite, RunningArm } from './arm.ts';
import { nodeFlags } from '../../../cli/node-flags.ts';
import { startOneProcess } from './one-process.ts';

const entry = join(resolve(import.meta.dirname, '..'), 'pass-through-main.ts');

export async function startPassThrough(site: ArmSite): Promise<RunningArm> {
  return await startOneProcess(site, 'pass-through', {
    entry,
    argument: site.engineUrl,
    nodeArgs: nodeFlags,
  });
}
