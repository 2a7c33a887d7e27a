/**
 * Programs that check what is made for containers and clusters, fetched into the state directory: those written in Go
 * are built with it, once and for minutes; the others come as wheels.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ensureVenv } from '../../cli/setup/private-venv.ts';
import { runCommand, type CommandResult } from '../../cli/setup/run-command.ts';
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
    const built = await build(source, draft, name);
    if (built.code !== 0) {
      throw new SetupFault(`${source} could not be built with Go 1.26 or later: ${built.output.slice(-500)}`);
    }
    await rename(draft, place).catch((error: unknown) => {
      // Somebody else was faster; theirs is as good.
      if (!existsSync(program)) throw error;
    });
    return program;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** As a module that needs it, since some may not be installed by themselves (`exclude` in their go.mod). */
async function build(source: string, folder: string, name: GoTool): Promise<CommandResult> {
  const [path = ''] = source.split('@');
  const steps = [
    ['mod', 'init', 'checks'],
    ['get', source],
    ['build', '-o', name, path],
  ];
  for (const step of steps) {
    const done = await runCommand('env', ['-C', folder, 'GOTOOLCHAIN=local', 'go', ...step], {
      timeoutMs: buildLimitMs,
    });
    if (done.code !== 0) return done;
  }
  return { code: 0, output: '' };
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
