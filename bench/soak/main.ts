/** `npm run soak [-- --quick]`: prints what was found and its bars; exits 1 if one is missed. */
import { loadavg } from 'node:os';
import { exitCodeOf, publish } from '../bars.ts';
import { planOf } from './plan.ts';
import { runSoak } from './run-soak.ts';
import { soakBars, soakText } from './summary.ts';

const words = process.argv.slice(2);
if (words.some((word) => word !== '--quick')) {
  process.stderr.write('usage: npm run soak [-- --quick]\n');
  process.exitCode = 1;
} else process.exitCode = await main(words.length > 0);

async function main(quick: boolean): Promise<0 | 1> {
  const before = loadavg();
  const plan = planOf(quick);
  const found = await runSoak(
    plan,
    process.env,
    (line) => process.stderr.write(`${line}\n`),
    (seen) => exitCodeOf(soakBars(plan, seen)) !== 0,
  );
  const after = loadavg();
  process.stdout.write(`\n${soakText(plan, found)}\n`);
  process.stdout.write(
    `Load average of the last minute: ${before[0]?.toFixed(2)} before, ${after[0]?.toFixed(2)} after.\n\n`,
  );
  return await publish('soak', soakBars(plan, found), {
    details: {
      quick,
      plan,
      loadAverage: { before, after },
      ...found,
      files: found.files.map(({ names, ...rest }) => ({ ...rest, count: names.length })),
    },
  });
}
