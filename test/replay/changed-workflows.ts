/**
 * Bundles of changed copies of the workflows, made in a folder of the system's for temporary files: the
 * tree itself is never touched.
 */
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeWorkflowBundle } from '../../activities/bundle-workflows.ts';

const root = resolve(import.meta.dirname, '..', '..');

/** One edit of one file of `workflows/`, in exactly one place. */
export interface Edit {
  readonly file: string;
  readonly from: RegExp;
  /** As the second argument of `String.replace`. */
  readonly to: string;
}

/** A name that becomes another one wherever it stands. */
export interface Rename {
  readonly name: string;
  readonly becomes: string;
}

/**
 * @param changes none: the copy is as the original.
 * @returns the bundle's code.
 * @throws when a change does not fit any more: the code is another one, and so must the test be.
 */
export async function bundleChanged(changes: readonly (Edit | Rename)[]): Promise<{ readonly code: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'fermata-changed-'));
  try {
    // What the workflows import as types is erased; of the rest they import the contracts only.
    for (const part of ['workflows', 'contracts']) {
      await cp(join(root, part), join(folder, part), { recursive: true });
    }
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const change of changes) {
      if ('name' in change) await applyRename(join(folder, 'workflows'), change);
      else await applyEdit(join(folder, 'workflows'), change);
    }
    return await makeWorkflowBundle(undefined, join(folder, 'workflows'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @throws when the edit does not fit in exactly one place. */
export async function applyEdit(folder: string, { file, from, to }: Edit): Promise<void> {
  const path = join(folder, file);
  const text = await readFile(path, 'utf8');
  const places = [...text.matchAll(new RegExp(from, `${from.flags}g`))].length;
  if (places !== 1) throw new Error(`${file} has ${places} places, not one, that read: ${String(from)}`);
  await writeFile(path, text.replace(from, to));
}

async function applyRename(folder: string, { name, becomes }: Rename): Promise<void> {
  const word = new RegExp(`\\b${name}\\b`, 'g');
  let places = 0;
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const text = await readFile(join(folder, file), 'utf8');
    const changed = text.replaceAll(word, () => {
      places += 1;
      return becomes;
    });
    await writeFile(join(folder, file), changed);
  }
  if (places === 0) throw new Error(`the workflows have no ${name}`);
}
