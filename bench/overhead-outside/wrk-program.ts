/**
 * wrk, a load generator that nobody here wrote: the one on PATH, else Debian's package, unpacked into the
 * checkout's state directory without being installed.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { runCommand } from '../../cli/setup/run-command.ts';
import { SetupFault, type Progress } from '../../cli/setup/setup-fault.ts';

export interface Wrk {
  readonly command: string;
  /** As it says itself, such as `4.1.0`. */
  readonly version: string;
  /** Where the libraries of the unpacked one are; null: where every program's are. */
  readonly libraries: string | null;
}

const packages = ['wrk', 'libluajit-5.1-2', 'libluajit-5.1-common'];
const fetchTimeoutMs = 60_000;

/** @throws SetupFault when it cannot be had. */
export async function ensureWrk(stateDir: string, progress: Progress): Promise<Wrk> {
  const installed = await known('wrk', null);
  if (installed !== null) return installed;
  const place = join(resolve(stateDir), 'tools', 'wrk-debian');
  if (!existsSync(place)) await unpack(place, progress);
  const triplets = await readdir(join(place, 'usr', 'lib')).catch(() => []);
  const [triplet = ''] = triplets.filter((name) => name.includes('-linux-'));
  const unpacked = await known(join(place, 'usr', 'bin', 'wrk'), join(place, 'usr', 'lib', triplet));
  if (unpacked === null)
    throw new SetupFault(`wrk in ${place} does not run; remove that folder or install wrk`);
  return unpacked;
}

/** @returns null when it does not run. */
async function known(command: string, libraries: string | null): Promise<Wrk | null> {
  const [program, ...args] = withLibraries({ command, libraries }, ['--version']);
  const told = await runCommand(program ?? '', args, { timeoutMs: 5_000 });
  const version = /wrk\D*(\d+\.\d+(?:\.\d+)?)/.exec(told.output)?.[1];
  return version === undefined ? null : { command, version, libraries };
}

/** A command line that finds the libraries. */
export function withLibraries(
  { command, libraries }: Omit<Wrk, 'version'>,
  args: readonly string[],
): string[] {
  return libraries === null ? [command, ...args] : ['env', `LD_LIBRARY_PATH=${libraries}`, command, ...args];
}

async function unpack(place: string, progress: Progress): Promise<void> {
  progress('fetching wrk (once) ...');
  const tools = join(place, '..');
  await mkdir(tools, { recursive: true });
  const draft = await mkdtemp(`${place}.part-`);
  try {
    const script =
      'cd "$1" && apt-get download -q "${@:2}" && for f in *.deb; do dpkg-deb -x "$f" . && rm "$f"; done';
    const done = await runCommand('bash', ['-c', script, 'bash', draft, ...packages], {
      timeoutMs: fetchTimeoutMs,
    });
    if (done.code !== 0) {
      const why = done.output.split('\n').findLast((line) => line.trim() !== '') ?? 'it printed nothing';
      throw new SetupFault(
        `wrk is not on PATH and Debian's package could not be fetched (${why.trim().slice(0, 200)}); install wrk`,
      );
    }
    await rename(draft, place).catch((error: unknown) => {
      // Somebody else was faster; theirs is as good.
      if (!existsSync(place)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
