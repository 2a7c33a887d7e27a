/** Whether the clocks of those who answered agree with ours. Pure. */
import { fault, ok, type Finding } from './finding.ts';

/** A `Date` header has whole seconds, and an answer takes some. */
const toleratedMs = 5_000;

export function checkClocks(
  clocks: readonly { readonly whose: string; readonly skewMs: number }[],
): Finding[] {
  const wrong = clocks.filter(({ skewMs }) => Math.abs(skewMs) > toleratedMs);
  if (clocks.length === 0) return [];
  if (wrong.length === 0)
    return [
      ok('clock', `agrees with ${clocks.length === 1 ? 'the one' : `all ${clocks.length}`} that answered`),
    ];
  return wrong.map(({ whose, skewMs }) =>
    fault(
      'clock',
      `the clock of ${whose} is ${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's`,
      'let both keep time by NTP: times of runs, waits and logs do not fit together',
    ),
  );
}
