/**
 * Two schedulers and a proxy as real processes, before simulated engines, with turns in flight, runs paused and turns
 * waiting: the active scheduler is killed, told to stop, and frozen, and the other one goes on where it was.
 * How long that may take is asked by `npm run bench -- standby`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ends, playRound, type End } from '../../../bench/standby/round.ts';
import { orderChanged, standbyBars } from '../../../bench/standby/run-standby.ts';
import { startStandbySite, type StandbySite } from '../../../bench/standby/site.ts';
import { makeWorkDir, type WorkDir } from '../../../bench/site/work-dir.ts';

let workDir: WorkDir;
let site: StandbySite;
beforeAll(async () => {
  workDir = await makeWorkDir('standby-test');
  site = await startStandbySite(workDir.path);
}, 120_000);
afterAll(async () => {
  await site.close();
  await workDir.close();
}, 60_000);

const cases: readonly [words: string, end: End][] = [
  ['killed with -9', ends.killed],
  ['told to stop', ends.stopped],
  ['frozen, and goes on later', ends.frozen],
];

describe('the standby of a scheduler that is', { timeout: 180_000 }, () => {
  it.each(cases)(
    '%s admits again, with affinity, reservations and order as they were',
    async (words, end) => {
      const result = await playRound(site, cases.findIndex(([each]) => each === words) + 1, end);
      process.stdout.write(`a scheduler ${words}: admitted again after ${result.takeoverMs.toFixed(0)} ms\n`);
      expect(result).toMatchObject({ affinityKept: true, reservationKept: true, failed: 0 });
      expect(result.admitted).toEqual(result.waited);
      // Whoever was replaced stands by, and nobody else is active.
      await site.settled();
    },
  );
});

describe('the bars of a take-over', () => {
  const fine = {
    takeoverMs: 2_000,
    affinityKept: true,
    reservationKept: true,
    admitted: ['a', 'b'],
    waited: ['a', 'b'],
    failed: 0,
  };

  it('take the worst time, and count what was not kept', () => {
    const bars = standbyBars([
      fine,
      { ...fine, takeoverMs: 3_100, affinityKept: false },
      { ...fine, admitted: ['b', 'a'], reservationKept: false, failed: 2 },
    ]);
    expect(bars.map(({ name, value }) => [name, value])).toEqual([
      ['standby-takeover-seconds', 3.1],
      ['standby take-overs that moved a run', 1],
      ['standby take-overs that lost a reservation', 1],
      ['standby take-overs that changed the order', 1],
      ['standby take-overs with failed requests', 1],
    ]);
    expect(bars[0]?.spread?.median).toBe(2);
  });

  it('see a turn that was admitted twice, or never, as a changed order', () => {
    expect(orderChanged(fine)).toBe(false);
    expect(orderChanged({ ...fine, admitted: ['a', 'b', 'b'] })).toBe(true);
    expect(orderChanged({ ...fine, admitted: ['a'] })).toBe(true);
  });
});
