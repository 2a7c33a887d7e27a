/** Which file is meant where none is named. */
import { existsSync } from 'node:fs';

export const defaultConfigPath = 'fermata.yaml';

/** @returns null: none was named, and there is none in the working directory. */
export function findConfigPath(named: string | null): string | null {
  return named ?? (existsSync(defaultConfigPath) ? defaultConfigPath : null);
}
