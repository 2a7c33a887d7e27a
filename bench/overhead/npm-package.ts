/** A program from npm in a folder of its own under the state directory, made beside its place and renamed. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { runCommand } from '../../cli/setup/run-command.ts';
import { SetupFault, type Progress } from '../../cli/setup/setup-fault.ts';

export interface NpmPackage {
  /** Folder name; holds the version, so that another version is another folder. */
  readonly name: string;
  readonly package: string;
  readonly version: string;
  /** Versions of its own packages, where those that npm would take do not work. */
  readonly overrides: Readonly<Record<string, string>>;
  /** What it is, as the user reads it. */
  readonly purpose: string;
}

const npmTimeoutMs = 180_000;

/** @returns the folder that holds its `node_modules`. @throws SetupFault when it cannot be had. */
export async function ensureNpmPackage(
  stateDir: string,
  wanted: NpmPackage,
  progress: Progress,
): Promise<string> {
  const tools = resolve(stateDir, 'tools');
  const place = join(tools, wanted.name);
  if (existsSync(place)) return place;
  progress(`fetching ${wanted.purpose} (once) ...`);
  await mkdir(tools, { recursive: true });
  const draft = await mkdtemp(join(tools, `${wanted.name}.part-`));
  try {
    const manifest = {
      private: true,
      dependencies: { [wanted.package]: wanted.version },
      overrides: wanted.overrides,
    };
    await writeFile(join(draft, 'package.json'), JSON.stringify(manifest));
    const args = ['install', '--prefix', draft, '--ignore-scripts', '--no-audit', '--no-fund'];
    const bounded = ['--loglevel=error', '--fetch-retries=1', '--fetch-timeout=30000'];
    const done = await runCommand('npm', [...args, ...bounded], {
      timeoutMs: npmTimeoutMs,
    });
    if (done.code !== 0) {
      const lines = done.output.split('\n').filter((line) => line.trim() !== '');
      const why = lines.find((line) => line.includes('npm error')) ?? lines.at(-1) ?? 'it printed nothing';
      throw new SetupFault(
        `${wanted.purpose} could not be fetched with npm (${why.trim().slice(0, 300)}); check the network and run it again`,
      );
    }
    await rename(draft, place).catch((error: unknown) => {
      // Somebody else was faster; theirs is as good.
      if (!existsSync(place)) throw error;
    });
    return place;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
