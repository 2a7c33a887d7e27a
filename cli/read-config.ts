/**
 * The configuration an embedded stack runs with: a file, or the built-in pool of what it starts itself.
 */
import { existsSync, readFileSync } from 'node:fs';
import { parse, YAMLParseError } from 'yaml';
import { configFileSchema, describeFaults, type ConfigFile } from '../contracts/config-file.ts';
import { SetupFault } from './setup/setup-fault.ts';

export const defaultConfigPath = 'fermata.yaml';

/**
 * @param path as given by the user, or null for `fermata.yaml` if there is one
 * @returns null when no file was named and there is none.
 * @throws SetupFault with one line a fault, each with its path in the file.
 */
export function readConfigFile(path: string | null): ConfigFile | null {
  const file = path ?? defaultConfigPath;
  if (path === null && !existsSync(file)) return null;
  let value: unknown;
  try {
    value = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const why = error instanceof YAMLParseError ? error.message.split('\n')[0] : (error as Error).message;
    throw new SetupFault(`${file} cannot be read: ${why}`, { cause: error });
  }
  return parseConfig(value, file);
}

/** @throws SetupFault with one line a fault. */
export function parseConfig(value: unknown, file: string): ConfigFile {
  const parsed = configFileSchema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  throw new SetupFault(
    `${file} has ${parsed.error.issues.length} fault(s):\n  ${describeFaults(parsed.error).join('\n  ')}`,
  );
}
