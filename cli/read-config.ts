/** The configuration file an embedded stack runs with, if there is one; read as every service reads it. */
import type { Logger } from 'pino';
import { findConfigPath } from '../config/config-path.ts';
import { openConfig, type LiveConfig } from '../config/live-config.ts';
import { ConfigFault } from '../config/read-config.ts';
import { SetupFault } from './setup/setup-fault.ts';

/**
 * @param path as given by the user, or null for `fermata.yaml` if there is one
 * @returns null when no file was named and there is none.
 * @throws SetupFault with one line a fault, each with its path in the file.
 */
export async function openConfigFile(path: string | null, logger: Logger): Promise<LiveConfig | null> {
  const file = findConfigPath(path);
  if (file === null) return null;
  try {
    return await openConfig(file, { logger });
  } catch (error) {
    if (error instanceof ConfigFault) throw new SetupFault(error.message, { cause: error });
    throw error;
  }
}
