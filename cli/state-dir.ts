/** The state directory of an embedded stack: Temporal's database, fetched programs, logs. */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SetupFault } from './setup/setup-fault.ts';

/** @returns its absolute path, made now with its folders. @throws SetupFault when it cannot be. */
export function makeStateDir(path: string): string {
  const stateDir = resolve(path);
  try {
    mkdirSync(join(stateDir, 'logs'), { recursive: true });
  } catch (error) {
    throw new SetupFault(
      `the state directory ${stateDir} (FERMATA_STATE_DIR) cannot be made: ${(error as Error).message}`,
      { cause: error },
    );
  }
  return stateDir;
}
