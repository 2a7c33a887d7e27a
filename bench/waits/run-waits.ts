/**
 * `npm run bench -- waits [--quick]`: 200 clients, half of each era, wait on one mcp-server, a process of its
 * own, each for a run of its own: how long after the end of its run each has the answer, and the memory that
 * all of them take. Once with the runs ending one after the other, once all at the same time.
 */
import { loadavg } from 'node:os';
import { bar, publish } from '../bars.ts';
import { quantile } from '../sim/statistics.ts';
import { startSite } from '../steps/site.ts';
import { measureWaits, type Waits, type WaitsPlan } from './measure.ts';

const clientsOfEachEra = { full: 100, quick: 10 } as const;
const gapMs = 100;

function line(what: string, { addedMs, before, most }: Waits): string {
  const times = [0.5, 0.9, 0.99, 1].map((part) => (quantile(addedMs, part) ?? NaN).toFixed(0).padStart(6));
  return `${what.padEnd(28)} ${times.join(' ')}   ${before.toFixed(0).padStart(5)} ${most.toFixed(0).padStart(5)}`;
}

/** @returns the exit code. */
export async function runWaitsBench(quick: boolean): Promise<0 | 1> {
  const load = loadavg()[0];
  const site = await startSite(process.env, (text) => process.stderr.write(`${text}\n`), { separate: true });
  try {
    const each = quick ? clientsOfEachEra.quick : clientsOfEachEra.full;
    const measure = async (plan: Omit<WaitsPlan, 'clientsOfEachEra'>): Promise<Waits> =>
      await measureWaits(site, { clientsOfEachEra: each, ...plan });
    await measureWaits(site, { clientsOfEachEra: 2, gapMs });
    process.stderr.write('runs that end one after the other ...\n');
    const inTurn = await measure({ gapMs });
    process.stderr.write('runs that end at the same time ...\n');
    const atOnce = await measure({ gapMs: 0 });
    process.stdout.write(
      `\n${2 * each} clients wait                ms after the end of their run   MiB of the server\n` +
        `                                p50    p90    p99    max   before  most\n` +
        `${line(`runs end ${gapMs} ms apart`, inTurn)}\n${line('all runs end at once', atOnce)}\n\n` +
        `Load average of the last minute before: ${load?.toFixed(2)}\n\n`,
    );
    const bars = [
      bar('waits added max ms', Math.max(...inTurn.addedMs), '<=', 100),
      bar('waits memory of the server MiB', Math.max(inTurn.most, atOnce.most), '<=', 300),
      bar('waits watches left', inTurn.watchedRuns + atOnce.watchedRuns, '=', 0),
    ];
    return await publish('waits', bars, { details: { quick, inTurn, atOnce } });
  } finally {
    await site.close();
  }
}
