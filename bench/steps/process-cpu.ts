/** Processor time that processes have used, from Linux's `/proc`; elsewhere it cannot be told. */
import { readFile } from 'node:fs/promises';

/** Linux counts in hundredths of a second on every platform that Node runs on. */
const msPerTick = 10;

/** Milliseconds of processor time so far, user and system; null where it cannot be told. */
export async function cpuMs(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return text === null ? null : cpuMsOf(text);
}

/** @param stat as in `/proc/<pid>/stat`; the name in its second field may hold blanks and brackets. */
export function cpuMsOf(stat: string): number | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isFinite(ticks) ? ticks * msPerTick : null;
}
