/** The configuration file an embedded stack runs with, if there is one; read as the scheduler reads it. */
import { existsSync } from 'node:fs';
import type { ConfigFile } from '../contracts/config-file.ts';
import { ConfigFault, readConfig } from '../scheduler/host/read-config.ts';
import { SetupFault } from './setup/setup-fault.ts';

const defaultConfigPath = 'fermata.yaml';

/**
 * @param path as given by the user, or null for `fermata.yaml` if there is one
 * @returns null when no file was named and there is none.
 * @throws SetupFault with one line a fault, each with its path in the file.
 */
export async function readConfigFile(path: string | null): Promise<ConfigFile | null> {
  const file = path ?? defaultConfigPath;
  if (path === null && !existsSync(file)) return null;
  try {
    return await readConfig(file);
  } catch (error) {
    if (error instanceof ConfigFault) throw new SetupFault(error.message, { cause: error });
    throw error;
  }
}
