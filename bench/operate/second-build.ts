/**
 * A build of fermata whose workflows really differ: a copy of the checkout's sources with a change that runs
 * which an older build has begun do not survive, as it is made for the tests of the stored histories. Only
 * Worker Versioning keeps the two apart.
 */
import { cp, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyEdit } from '../../test/replay/changed-workflows.ts';
import { swappedOrder } from '../../test/replay/order-change.ts';
import { ownRoot } from './cluster.ts';

export interface SecondBuild {
  /** As the checkout's root. */
  readonly root: string;
  close(): Promise<void>;
}

/** What a running service needs none of. */
const leftOut = ['node_modules', 'bench', 'docs', 'test', 'web', 'examples', 'docker'];

/** @throws Error when the change does not fit the workflows any more. */
export async function makeSecondBuild(): Promise<SecondBuild> {
  const root = await mkdtemp(join(tmpdir(), 'fermata-build-'));
  const close = async (): Promise<void> => await rm(root, { recursive: true, force: true });
  try {
    const entries = (await readdir(ownRoot)).filter(
      (name) => !name.startsWith('.') && !leftOut.includes(name),
    );
    await Promise.all(
      entries.map(async (name) => await cp(join(ownRoot, name), join(root, name), { recursive: true })),
    );
    await symlink(join(ownRoot, 'node_modules'), join(root, 'node_modules'));
    for (const edit of swappedOrder) await applyEdit(join(root, 'workflows'), edit);
    return { root, close };
  } catch (error) {
    await close();
    throw error;
  }
}
