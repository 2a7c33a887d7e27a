/** What lies in a cluster's state folder and temporary folder, beside logs and Temporal's database. */
import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';

export interface FileSample {
  readonly quarter: number;
  readonly bytes: number;
  /** Relative to the state folder. */
  readonly names: readonly string[];
}

/**
 * Logs may grow; how Temporal's database grows is a matter of its retention, see docs/decisions. The samples of
 * memory are the bench's own.
 */
export function isExpectedToGrow(name: string): boolean {
  return name.startsWith('logs/') || name.startsWith('temporal.db') || name.endsWith('.memory');
}

export async function sampleFiles(folder: string, quarter: number): Promise<FileSample> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((name) => !isExpectedToGrow(name));
  const sizes = await Promise.all(
    files.map(
      async (name) =>
        await stat(join(folder, name)).then(
          ({ size }) => size,
          () => 0,
        ),
    ),
  );
  return { quarter, bytes: sizes.reduce((sum, size) => sum + size, 0), names: files.toSorted() };
}
