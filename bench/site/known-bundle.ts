/**
 * The bundle of the workflows, made once for all that is started from these sources: making it takes seconds of
 * processor, and belongs to nothing that is measured.
 */
import { copyFile, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { keptBundle } from '../../activities/kept-bundle.ts';
import { toolsDir } from './work-dir.ts';

/** Puts the bundle where a worker with this state directory finds it; where it cannot be kept, the worker makes it. */
export async function bringBundle(stateDir: string): Promise<void> {
  const bundle = await keptBundle(toolsDir);
  if (!('codePath' in bundle)) return;
  await mkdir(stateDir, { recursive: true });
  await copyFile(bundle.codePath, join(stateDir, basename(bundle.codePath)));
}
