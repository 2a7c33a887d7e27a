/**
 * Builds what the image runs, into a folder: `node --import tsx scripts/release/build-app.ts FOLDER`.
 * JavaScript of everything that the entry point reaches, the bundle of the workflows and the web page made
 * ahead, and beside them what says whether those two are still right (their sources and the lock file), so
 * that a container with a read-only root starts without making anything. Packages are not part of it.
 */
import { spawnSync } from 'node:child_process';
import { cp, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { keptBundle } from '../../activities/kept-bundle.ts';
import { keptPage } from '../../mcp-server/page/kept-page.ts';

const root = resolve(import.meta.dirname, '..', '..');

/** Where the image finds the bundle: `FERMATA_STATE_DIR` in docker/Dockerfile. */
export const stateFolder = 'state';

/**
 * @param target made anew.
 * @throws Error when a step fails, with what it printed.
 */
export async function buildApp(target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  compile(target);
  for (const file of ['package.json', 'package-lock.json', 'LICENSE']) {
    await cp(join(root, file), join(target, file));
  }
  for (const folder of ['workflows', 'contracts']) await copySources(folder, target);
  const page = await keptPage();
  const built = join('web', 'dist');
  await cp(join(root, 'web'), join(target, 'web'), {
    recursive: true,
    filter: (path) => !relative(root, path).startsWith(built),
  });
  await cp(page, join(target, relative(root, page)), { recursive: true });
  const bundle = await keptBundle(join(target, stateFolder), {
    sources: { root: target, lockFile: join(target, 'package-lock.json') },
    bundle: async (logger) => {
      // Of the checkout's sources, which are the same: those of the target have no packages beside them.
      const { makeWorkflowBundle } = await import('../../activities/bundle-workflows.ts');
      return await makeWorkflowBundle(logger);
    },
  });
  if (!('codePath' in bundle)) throw new Error(`the bundle of the workflows could not be kept in ${target}`);
}

function compile(target: string): void {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const done = spawnSync(
    process.execPath,
    [compiler, '-p', join(root, 'docker', 'tsconfig.json'), '--outDir', target],
    { cwd: root, encoding: 'utf8' },
  );
  if (done.status !== 0) throw new Error(`the sources do not compile:\n${done.stdout}${done.stderr}`);
}

/** The TypeScript of a folder: the name of the bundle is made of it (activities/kept-bundle.ts). */
async function copySources(folder: string, target: string): Promise<void> {
  const names = await readdir(join(root, folder), { recursive: true });
  for (const name of names.filter((one) => one.endsWith('.ts'))) {
    await cp(join(root, folder, name), join(target, folder, name));
  }
}

/** Bytes of all files in a folder. */
export async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

if (process.argv[1] === import.meta.filename) {
  const [target] = process.argv.slice(2);
  if (target === undefined) {
    console.error('usage: node --import tsx scripts/release/build-app.ts FOLDER');
    process.exit(2);
  }
  try {
    await buildApp(resolve(target));
    console.log(`${resolve(target)}: ${((await sizeOf(resolve(target))) / 1e6).toFixed(1)} MB`);
    process.exit(0);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
