/**
 * `npm run bench -- standby [--quick]`: the active scheduler is killed with -9 again and again. How long until
 * turns are admitted again, and are affinity, reservations and the order of those who wait kept?
 */
import { loadavg } from 'node:os';
import { bar, publish, type Bar } from '../bars.ts';
import { median } from '../sim/statistics.ts';
import { makeWorkDir } from '../site/work-dir.ts';
import { playRound, type RoundResult } from './round.ts';
import { startStandbySite } from './site.ts';

const kills = 20;
const quickKills = 3;

/** Seconds that a take-over may last. */
const longestTakeover = 3;

export function standbyBars(rounds: readonly RoundResult[]): readonly Bar[] {
  const count = (is: (round: RoundResult) => boolean): number | null =>
    rounds.length === 0 ? null : rounds.filter(is).length;
  const seconds = rounds.map(({ takeoverMs }) => takeoverMs / 1_000);
  const worst = seconds.length === 0 ? null : Math.max(...seconds);
  return [
    bar('standby-takeover-seconds', worst, '<=', longestTakeover, {
      median: median(seconds),
      lowest: seconds.length === 0 ? null : Math.min(...seconds),
      highest: worst,
    }),
    bar(
      'standby take-overs that moved a run',
      count(({ affinityKept }) => !affinityKept),
      '=',
      0,
    ),
    bar(
      'standby take-overs that lost a reservation',
      count(({ reservationKept }) => !reservationKept),
      '=',
      0,
    ),
    bar('standby take-overs that changed the order', count(orderChanged), '=', 0),
    bar(
      'standby take-overs with failed requests',
      count(({ failed }) => failed > 0),
      '=',
      0,
    ),
  ];
}

export function orderChanged({ admitted, waited }: RoundResult): boolean {
  return JSON.stringify(admitted) !== JSON.stringify(waited);
}

/** @returns the exit code. */
export async function runStandbyBench(quick: boolean): Promise<0 | 1> {
  const before = loadavg();
  const workDir = await makeWorkDir('standby');
  const rounds: RoundResult[] = [];
  try {
    const site = await startStandbySite(workDir.path);
    try {
      for (let round = 1; round <= (quick ? quickKills : kills); round += 1) {
        const result = await playRound(site, round);
        rounds.push(result);
        const seconds = (result.takeoverMs / 1_000).toFixed(2);
        process.stderr.write(`kill ${round}: admitted again after ${seconds} s\n`);
      }
    } finally {
      await site.close();
    }
  } finally {
    await workDir.close();
  }
  const seconds = rounds.map(({ takeoverMs }) => takeoverMs / 1_000);
  process.stdout.write(
    `\n${rounds.length} kills: admitted again after ${median(seconds)?.toFixed(2)} s in the middle, ${Math.max(...seconds).toFixed(2)} s at worst. Load average of the last minute: ${before[0]?.toFixed(2)} before, ${loadavg()[0]?.toFixed(2)} after.\n\n`,
  );
  return await publish('standby', standbyBars(rounds), { details: { quick, rounds } });
}
