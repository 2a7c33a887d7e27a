/** Asks a process that was started with the memory hook what it uses once its garbage is collected. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { SetupFault } from '../../cli/setup/setup-fault.ts';

export const memoryHookArgs: readonly string[] = [
  '--expose-gc',
  '--import',
  join(import.meta.dirname, 'memory-hook.mjs'),
];

/** The environment of a process whose samples go to `path`. */
export function memoryHookEnvironment(path: string): Readonly<Record<string, string>> {
  return { OVERHEAD_MEMORY_FILE: path };
}

/** In bytes. */
const memorySchema = z.strictObject({ rss: z.number(), heapUsed: z.number(), external: z.number() });
export type MemorySample = z.infer<typeof memorySchema>;

const answerTimeoutMs = 20_000;
const pollMs = 50;

/** @throws SetupFault when the process gives no sample in time. */
export async function sampleMemory(pid: number, path: string): Promise<MemorySample> {
  const linesOf = async (): Promise<readonly string[]> =>
    (await readFile(path, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  const before = (await linesOf()).length;
  process.kill(pid, 'SIGUSR2');
  const deadlineMs = performance.now() + answerTimeoutMs;
  while (performance.now() < deadlineMs) {
    const line = (await linesOf())[before];
    const sample = line === undefined ? null : parseSample(line);
    if (sample !== null) return sample;
    await new Promise((resolve) => {
      setTimeout(resolve, pollMs);
    });
  }
  throw new SetupFault(`process ${pid} gave no memory sample within ${answerTimeoutMs / 1_000} s`);
}

/** null: the line is not written to its end yet. */
function parseSample(line: string): MemorySample | null {
  try {
    return memorySchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
