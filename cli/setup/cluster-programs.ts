/**
 * Where the programs of a full Temporal cluster on PostgreSQL come from, for `npm run test:cluster`: PostgreSQL
 * as the system has it; Temporal's server and its SQL tool from PATH, else built once with Go into the state
 * directory. fermata itself starts no cluster.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import type { ClusterPrograms } from '../../testkit/temporal-cluster/cluster-programs.ts';
import { runCommand } from './run-command.ts';
import { SetupFault, type Progress } from './setup-fault.ts';

/** The same version as the embedded server's; later ones of its line want a newer Go. */
const serverVersion = '1.32.0';
const wantedGo = '1.26.8';
const packages = ['go.temporal.io/server/cmd/server', 'go.temporal.io/server/cmd/tools/sql'];
/** Some minutes on two cores; the modules have to be fetched too. */
const buildLimitMs = 1_800_000;
/** Where the installers of each put them, for when they are not on PATH. */
const usualPlaces = { go: '/usr/local/go/bin', postgres: '/usr/lib/postgresql' } as const;

export interface Places {
  /** Has `go` in it. */
  readonly go: string;
  /** Has a folder for each version, with `bin` in it, as on Debian. */
  readonly postgres: string;
}

/**
 * @param searchPath the `PATH` to look in
 * @throws SetupFault that names what to install.
 */
export async function ensureClusterPrograms(
  stateDir: string,
  searchPath: string,
  progress: Progress,
  places: Places = usualPlaces,
): Promise<ClusterPrograms> {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '');
  const postgres = await findPostgres(folders, places.postgres);
  return { ...(await ensureTemporal(stateDir, [...folders, places.go], progress)), ...postgres };
}

async function findPostgres(
  folders: readonly string[],
  versionsFolder: string,
): Promise<Pick<ClusterPrograms, 'postgres' | 'initdb'>> {
  const versions = await readdir(versionsFolder).catch(() => []);
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a));
  const places = [...folders, ...newestFirst.map((version) => join(versionsFolder, version, 'bin'))];
  const place = places.find((folder) =>
    ['postgres', 'initdb'].every((name) => existsSync(join(folder, name))),
  );
  if (place !== undefined) return { postgres: join(place, 'postgres'), initdb: join(place, 'initdb') };
  throw new SetupFault(
    "PostgreSQL is needed for a Temporal cluster, and there is no 'postgres' with 'initdb' on PATH; install it, such as with apt-get install postgresql",
  );
}

async function ensureTemporal(
  stateDir: string,
  folders: readonly string[],
  progress: Progress,
): Promise<Pick<ClusterPrograms, 'server' | 'sqlTool'>> {
  // The names of Temporal's own releases.
  const released = folders.find((folder) =>
    ['temporal-server', 'temporal-sql-tool'].every((name) => existsSync(join(folder, name))),
  );
  if (released !== undefined) {
    return { server: join(released, 'temporal-server'), sqlTool: join(released, 'temporal-sql-tool') };
  }
  const tools = resolve(stateDir, 'tools');
  const place = join(tools, `temporal-server-${serverVersion}`);
  const built = { server: join(place, 'server'), sqlTool: join(place, 'sql') };
  if (existsSync(place)) return built;
  const go = await findGo(folders);
  progress(`building Temporal's server ${serverVersion} (once; some minutes) ...`);
  await mkdir(tools, { recursive: true });
  const draft = await mkdtemp(join(tools, `temporal-server-${serverVersion}.part-`));
  try {
    for (const name of packages) await install(go, `${name}@v${serverVersion}`, draft);
    await rename(draft, place).catch((error: unknown) => {
      // Somebody else was faster; theirs is as good.
      if (!existsSync(place)) throw error;
    });
    return built;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function findGo(folders: readonly string[]): Promise<string> {
  const go = folders.map((folder) => join(folder, 'go')).find((file) => existsSync(file));
  if (go !== undefined) return go;
  throw new SetupFault(
    `Go ${wantedGo} or later is needed to build Temporal's server; install it (https://go.dev/dl), or put 'temporal-server' and 'temporal-sql-tool' of Temporal's releases on PATH`,
  );
}

async function install(go: string, target: string, folder: string): Promise<void> {
  // Half of the processors: whoever waits for it has something else to do.
  const parallel = String(Math.max(1, Math.floor(availableParallelism() / 2)));
  const { code, output } = await runCommand(
    '/usr/bin/env',
    [`GOBIN=${folder}`, 'GOFLAGS=-buildvcs=false', go, 'install', '-p', parallel, target],
    { timeoutMs: buildLimitMs },
  );
  if (code === 0) return;
  const lines = output.trim().split('\n');
  throw new SetupFault(
    `${target} could not be built with ${go} (Go ${wantedGo} or later): ${(lines.at(-1) ?? '').slice(0, 300)}; mend that, or put 'temporal-server' and 'temporal-sql-tool' on PATH`,
  );
}
