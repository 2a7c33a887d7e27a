/**
 * Processor time that processes have used, from Linux's `/proc`; elsewhere it cannot be told. Read every
 * half a second, so that afterwards the time of any window can be told.
 */
import { readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second on every platform that Node runs on. */
const msPerTick = 10;

/** In place and at once: read as other files are, these take more time than all else that is done here. */
function readProc(path: string): string | null {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return null;
  }
}

/** Milliseconds of processor time so far, user and system; null where it cannot be told. */
export function processCpuMs(pid: number): number | null {
  const text = readProc(`${pid}/stat`);
  return text === null ? null : cpuMsOf(text);
}

/** @param stat as in `/proc/<pid>/stat`; the name in its second field may hold blanks and brackets. */
export function cpuMsOf(stat: string): number | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isFinite(ticks) ? ticks * msPerTick : null;
}

/** Milliseconds used so far by each process, at one moment. */
export interface CpuSample {
  readonly atMs: number;
  readonly used: Readonly<Record<string, number | null>>;
}

/** @returns what each process used between two moments, from samples in order; null where it cannot be told. */
export function cpuBetween(
  samples: readonly CpuSample[],
  fromMs: number,
  toMs: number,
): Readonly<Record<string, number | null>> {
  const names = Object.keys(samples[0]?.used ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const from = usedAt(samples, name, fromMs);
      const to = usedAt(samples, name, toMs);
      return [name, from === null || to === null ? null : to - from];
    }),
  );
}

/** Between two samples time is taken to be used evenly; outside of them nothing is known. */
function usedAt(samples: readonly CpuSample[], name: string, atMs: number): number | null {
  const next = samples.findIndex((sample) => sample.atMs >= atMs);
  const after = samples[next];
  const before = samples[next - 1] ?? after;
  const [low, high] = [before?.used[name] ?? null, after?.used[name] ?? null];
  if (before === undefined || after === undefined || low === null || high === null) return null;
  if (after.atMs === before.atMs) return after.atMs === atMs ? high : null;
  return low + ((high - low) * (atMs - before.atMs)) / (after.atMs - before.atMs);
}

const sampleEveryMs = 500;

export interface CpuSampler {
  /** Takes a last sample. */
  stop(): readonly CpuSample[];
}

/** Samples these processes, this one and the whole machine until it is stopped. */
export function sampleCpu(pids: Readonly<Record<string, number>>): CpuSampler {
  const samples: CpuSample[] = [];
  const take = (): void => {
    const own = process.cpuUsage();
    const used = {
      ...Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, processCpuMs(pid)])),
      [ownName]: (own.user + own.system) / 1_000,
      [machineName]: machineCpuMs(),
    };
    samples.push({ atMs: Date.now(), used });
  };
  take();
  const timer = setInterval(take, sampleEveryMs);
  return {
    stop() {
      clearInterval(timer);
      take();
      return samples;
    },
  };
}

/** This process: the engines and the tools live in it too. */
export const ownName = 'engines, tools and client';
export const machineName = 'machine';

/** Milliseconds that all processors were busy so far, whoever used them. */
function machineCpuMs(): number | null {
  const text = readProc('stat');
  return text === null ? null : machineCpuMsOf(text);
}

/** @param stat as in `/proc/stat`: user, nice, system, idle, waiting for disks, interrupts, soft ones. */
export function machineCpuMsOf(stat: string): number | null {
  const [user, nice, system, , , hard, soft] = stat.split(/\s+/).slice(1, 8).map(Number);
  const ticks = [user, nice, system, hard, soft].reduce<number>((sum, one) => sum + (one ?? Number.NaN), 0);
  return Number.isFinite(ticks) ? ticks * msPerTick : null;
}
