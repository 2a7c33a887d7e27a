/**
 * Which packages of the lock file a service needs when it runs: all that `dependencies` of package.json lead
 * to, without those that only a checkout needs. Pure; the lock file is npm's version 3.
 */
import { z } from 'zod';

const names = z.record(z.string(), z.string()).default({});
const entrySchema = z.object({
  dependencies: names,
  optionalDependencies: names,
  peerDependencies: names,
});
export const lockSchema = z.object({ packages: z.record(z.string(), entrySchema) });
export type Lock = z.infer<typeof lockSchema>;

/** tsx runs TypeScript, and what the image runs is JavaScript. */
const checkoutOnly: ReadonlySet<string> = new Set(['tsx']);

/**
 * @returns paths such as `node_modules/a/node_modules/b`, sorted. Optional ones may not be installed here.
 * @throws Error when a package that is needed is not in the lock file.
 */
export function productionPackages(lock: Lock, without: ReadonlySet<string> = checkoutOnly): string[] {
  const found = new Set<string>();
  const visit = (path: string): void => {
    const entry = lock.packages[path];
    if (entry === undefined) throw new Error(`${path} is not in the lock file`);
    const needed = Object.keys(entry.dependencies).filter((name) => path !== '' || !without.has(name));
    const welcome = Object.keys({ ...entry.optionalDependencies, ...entry.peerDependencies });
    for (const name of [...needed, ...welcome]) {
      const next = placeOf(lock, path, name);
      if (next === null) {
        if (welcome.includes(name)) continue;
        throw new Error(`${name}, which ${path} needs, is not in the lock file`);
      }
      if (found.has(next)) continue;
      found.add(next);
      visit(next);
    }
  };
  visit('');
  return [...found].toSorted();
}

/** Where Node.js finds `name` for a file of the package at `path`: in its own folder first, then further out. */
function placeOf(lock: Lock, path: string, name: string): string | null {
  for (let folder = path; ; folder = outerPackage(folder)) {
    const place = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (place in lock.packages) return place;
    if (folder === '') return null;
  }
}

function outerPackage(path: string): string {
  const end = path.lastIndexOf('/node_modules/');
  return end < 0 ? '' : path.slice(0, end);
}
