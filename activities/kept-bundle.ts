/**
 * The workflow bundle of exactly these sources, kept in the state directory: bundling costs a starting
 * worker seconds, in which its runs stand still. A bundle is found by a hash of all it is made from, so a
 * changed source is never answered with an old bundle.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from '@temporalio/worker';
import { makeWorkflowBundle } from './bundle-workflows.ts';

/** As `Worker.create` takes it. */
export type WorkflowBundle = { readonly codePath: string } | { readonly code: string };

export interface BundleSources {
  /** Folder with `workflows/` and `contracts/`, everything of ours that a bundle can hold. */
  readonly root: string;
  /** Pins every package that a bundle can hold. */
  readonly lockFile: string;
}

export interface KeptBundleOptions {
  readonly logger?: Logger;
  readonly sources?: BundleSources;
  /** How a bundle is made. */
  readonly bundle?: typeof makeWorkflowBundle;
}

const root = resolve(import.meta.dirname, '..');
const ownSources: BundleSources = { root, lockFile: join(root, 'package-lock.json') };

/** Builds side by side, as during a rolling deploy, and the one before. */
const keptBundles = 4;
/** Also those that a worker was killed amid writing. */
const bundleName = /^workflows-[0-9a-f]{32}\.js(\.[0-9a-f-]{36})?$/;

/**
 * The bundle from `folder`, made and put there first if need be. Two workers may do so at once. Where
 * nothing can be read or written, the bundle is made and not kept.
 */
export async function keptBundle(
  folder: string,
  { logger, sources = ownSources, bundle = makeWorkflowBundle }: KeptBundleOptions = {},
): Promise<WorkflowBundle> {
  const make = async () => await bundle(logger, join(sources.root, 'workflows'));
  let codePath: string;
  try {
    codePath = resolve(folder, `workflows-${await hashOf(sources)}.js`);
    // Its age is that of its last use.
    const now = new Date();
    if (await isThere(codePath)) {
      // Where nothing can be written, as in an image, nothing is dropped either.
      await utimes(codePath, now, now).catch(() => undefined);
      return { codePath };
    }
    await mkdir(folder, { recursive: true });
  } catch {
    return await make();
  }
  const { code } = await make();
  try {
    const unfinished = `${codePath}.${randomUUID()}`;
    await writeFile(unfinished, code);
    await rename(unfinished, codePath);
    await dropOldest(folder);
    return { codePath };
  } catch {
    return { code };
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** @throws when a source cannot be read. */
async function hashOf({ root: folder, lockFile }: BundleSources): Promise<string> {
  const hash = createHash('sha256').update(await readFile(lockFile));
  for (const part of ['workflows', 'contracts']) {
    const names = await readdir(join(folder, part), { recursive: true });
    for (const name of names.filter((one) => one.endsWith('.ts')).toSorted()) {
      hash.update(JSON.stringify([part, name, await readFile(join(folder, part, name), 'utf8')]));
    }
  }
  return hash.digest('hex').slice(0, 32);
}

async function dropOldest(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => bundleName.test(name));
  const aged = await Promise.all(
    names.map(async (name) => ({ name, usedAt: (await stat(join(folder, name))).mtimeMs })),
  );
  const old = aged.toSorted((a, b) => b.usedAt - a.usedAt).slice(keptBundles);
  await Promise.all(old.map(async ({ name }) => await rm(join(folder, name), { force: true })));
}
