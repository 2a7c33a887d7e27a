/** A folder for the logs and configurations of one benchmark, gone with it. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Closable } from '../../cli/close-in-reverse.ts';

export interface WorkDir extends Closable {
  readonly path: string;
}

export async function makeWorkDir(bench: string): Promise<WorkDir> {
  const path = await mkdtemp(join(tmpdir(), `fermata-${bench}-`));
  // Also when this process is interrupted.
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
  return { path, close: async () => await rm(path, { recursive: true, force: true }) };
}

/** Where programs that benchmarks fetch are kept: the checkout's own state directory. */
export const toolsDir = resolve(import.meta.dirname, '..', '..', '.fermata');

/** Whoever measures may have settings and a cluster of their own. */
export function withoutSettings(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^(FERMATA|TEMPORAL)_/.test(name)),
  );
}
