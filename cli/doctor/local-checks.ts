/** What can be said of this machine without asking anybody: Node, the disk, the configuration file. */
import { constants, existsSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ConfigFile } from '../../contracts/config-file.ts';
import { ConfigFault, readConfig } from '../../config/read-config.ts';
import { fault, ok, warning, type Finding } from './finding.ts';

/** @param wanted lowest version, such as `20.19`. Pure. */
export function checkNode(version: string, wanted: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split('.').map(Number);
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor))
    return ok('node', `Node.js ${version}`);
  return fault(
    'node',
    `Node.js ${version} is too old`,
    `install Node.js ${wanted} or later (https://nodejs.org), and start fermata with it`,
  );
}

const mebibyte = 1_024 * 1_024;
const leastFreeMiB = 200;
const comfortableFreeMiB = 1_024;

/** @param freeBytes of the file system of `path`, for this user. Pure. */
export function judgeSpace(path: string, freeBytes: number): Finding {
  const free = Math.floor(freeBytes / mebibyte);
  const says = `${free} MiB are free at ${path}`;
  const remedy =
    'free some, or set FERMATA_STATE_DIR to a folder on a larger disk: the database of runs and the logs grow there';
  if (free < leastFreeMiB) return fault('disk', `${says}: the disk is full`, remedy);
  return free < comfortableFreeMiB ? warning('disk', `only ${says}`, remedy) : ok('disk', says);
}

export type StatDisk = (path: string) => Promise<{ readonly freeBytes: number }>;

export const statDisk: StatDisk = async (path) => {
  const { bavail, bsize } = await statfs(path);
  return { freeBytes: bavail * bsize };
};

export async function checkDisk(stateDir: string, stat: StatDisk = statDisk): Promise<Finding> {
  let path = resolve(stateDir);
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  try {
    await access(path, constants.W_OK);
  } catch {
    return fault(
      'disk',
      `${path} cannot be written`,
      'give yourself the right to, or set FERMATA_STATE_DIR to a folder that you may write',
    );
  }
  return judgeSpace(path, (await stat(path)).freeBytes);
}

const defaultConfigPath = 'fermata.yaml';

export interface ReadFile {
  /** null: there is none, or it cannot be used. */
  readonly config: ConfigFile | null;
  readonly findings: readonly Finding[];
}

/** @param path as the user named it; null: `fermata.yaml` if there is one. */
export async function checkConfigFile(path: string | null): Promise<ReadFile> {
  const file = path ?? defaultConfigPath;
  if (path === null && !existsSync(file)) {
    return { config: null, findings: [ok('configuration', 'no file: the built-in pool')] };
  }
  try {
    const config = await readConfig(file);
    const says = `${file}: ${config.pool.length} replicas, ${Object.keys(config.tools.mcpServers).length} tool servers`;
    return { config, findings: [ok('configuration', says)] };
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error;
    const findings = error.faults.map((line) =>
      fault('configuration', `${file}: ${line}`, 'mend this line; while it stands, the file is not taken'),
    );
    return { config: null, findings };
  }
}
