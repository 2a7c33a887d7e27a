/**
 * What the processes that are never restarted use, from the second quarter on: memory after a forced collection
 * of garbage, open files, open sockets. A process that is killed every few seconds cannot show that it leaks;
 * its sibling, which takes the same turns and sees it come and go all the time, can.
 */
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { MemberKind } from '../operate/cluster-plan.ts';
import type { Member } from '../operate/member.ts';
import { memoryHookEnvironment, sampleMemory } from '../overhead/memory-probe.ts';

export interface Sample {
  readonly kind: MemberKind;
  /** Turns done at that moment. */
  readonly turns: number;
  readonly quarter: number;
  /** null: not measured. */
  readonly rssBytes: number | null;
  readonly heapBytes: number | null;
  /** Open files of any kind, sockets included. */
  readonly files: number;
  readonly sockets: number;
}

/** Where a process writes what it uses. */
export function memoryFileOf(folder: string, name: string): string {
  return join(folder, `${name}.memory`);
}

export function memoryEnvironment(folder: string, name: string): Readonly<Record<string, string>> {
  return memoryHookEnvironment(memoryFileOf(folder, name));
}

/**
 * @param folder where memory is told; null: it is not asked for, since collecting garbage takes its time.
 * @throws SetupFault when one gives no sample.
 */
export async function sampleSurvivors(
  survivors: readonly Member[],
  folder: string | null,
  at: { readonly turns: number; readonly quarter: number },
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (const { kind, name, pid } of survivors) {
    if (pid === null) throw new Error(`${name} does not run, and was to survive`);
    const memory = folder === null ? null : await sampleMemory(pid, memoryFileOf(folder, name));
    samples.push({
      kind,
      ...at,
      rssBytes: memory?.rss ?? null,
      heapBytes: memory?.heapUsed ?? null,
      ...(await openFilesOf(pid)),
    });
  }
  return samples;
}

async function openFilesOf(pid: number): Promise<{ readonly files: number; readonly sockets: number }> {
  const names = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(
    names.map(async (name) => await readlink(`/proc/${pid}/fd/${name}`).catch(() => '')),
  );
  return { files: targets.length, sockets: targets.filter((target) => target.startsWith('socket:')).length };
}
