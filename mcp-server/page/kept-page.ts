/**
 * The built files of the web page, kept below `web/dist` by a hash of all they are made from: a changed
 * source is never answered with an old page, and nothing is built twice. A release builds them ahead with
 * `npm run build:web`; elsewhere they are built when the page is first asked for, in a process of its own,
 * since a build would keep this one from its streams.
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

export interface PageSources {
  /** Folder of the page's sources. */
  readonly web: string;
  /** Pins every package that the page can hold. */
  readonly lockFile: string;
}

export interface KeptPageOptions {
  readonly sources?: PageSources;
  /** Builds the page into the folder. */
  readonly build?: (folder: string) => Promise<void>;
}

/** The page cannot be had; its message says why and what to do. */
export class PageFault extends Error {
  override readonly name = 'PageFault';
}

const root = resolve(import.meta.dirname, '..', '..');
const ownSources: PageSources = { web: join(root, 'web'), lockFile: join(root, 'package-lock.json') };

/** The newest, and the one before it, which another checkout of a branch may come back to. */
const keptPages = 2;
/** Also those that a build was killed amid writing. */
const pageName = /^[0-9a-f]{32}(\.[0-9a-f-]{36})?$/;
const buildLimitMs = 60_000;

/**
 * @returns the folder of the built page. Two may build it at once.
 * @throws PageFault when it is not there and cannot be built.
 */
export async function keptPage({
  sources = ownSources,
  build = buildWithVite,
}: KeptPageOptions = {}): Promise<string> {
  const dist = join(sources.web, 'dist');
  const folder = join(dist, await hashOf(sources));
  if (await isThere(folder)) {
    // Its age is that of its last use. Where nothing can be written, nothing is dropped either.
    await utimes(folder, new Date(), new Date()).catch(() => undefined);
    return folder;
  }
  const unfinished = `${folder}.${randomUUID()}`;
  try {
    await mkdir(dist, { recursive: true });
    await build(unfinished);
    await rename(unfinished, folder).catch(async (error: unknown) => {
      // Somebody else has built the same in the meantime.
      if (!(await isThere(folder))) throw error;
    });
    await dropOldest(dist);
    return folder;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new PageFault(`the web page could not be built (${words}); see: npm run build:web`, {
      cause: error,
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true }).catch(() => undefined);
  }
}

async function buildWithVite(folder: string): Promise<void> {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  if (!(await isFile(vite))) throw new Error('vite is not installed; run npm ci with development packages');
  const args = [vite, 'build', ownSources.web, '--outDir', folder, '--logLevel', 'error'];
  try {
    await promisify(execFile)(process.execPath, args, { cwd: root, timeout: buildLimitMs });
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string };
    throw new Error(stderr.trim().split('\n').slice(0, 5).join(' ') || message, { cause: error });
  }
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function isThere(folder: string): Promise<boolean> {
  return await isFile(join(folder, 'index.html'));
}

async function hashOf({ web, lockFile }: PageSources): Promise<string> {
  const hash = createHash('sha256').update(await readFile(lockFile));
  const entries = await readdir(web, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const ofSources = paths.filter((path) => !path.startsWith(join(web, 'dist')));
  for (const path of ofSources.toSorted()) {
    hash.update(JSON.stringify([path.slice(web.length), await readFile(path, 'utf8')]));
  }
  return hash.digest('hex').slice(0, 32);
}

async function dropOldest(dist: string): Promise<void> {
  const names = (await readdir(dist)).filter((name) => pageName.test(name));
  const aged = await Promise.all(
    names.map(async (name) => ({ name, usedAt: (await stat(join(dist, name))).mtimeMs })),
  );
  const old = aged.toSorted((a, b) => b.usedAt - a.usedAt).slice(keptPages);
  await Promise.all(
    old.map(async ({ name }) => await rm(join(dist, name), { recursive: true, force: true })),
  );
}
