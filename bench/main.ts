/** `npm run bench -- NAME [--quick]`: runs one benchmark, prints its table and bars, exits 1 if a bar is missed. */
import { runSchedulerFaults } from './scheduler-faults.ts';
import { runSchedulerBench } from './scheduler.ts';

const benchmarks: Readonly<Record<string, (quick: boolean) => Promise<0 | 1>>> = {
  scheduler: runSchedulerBench,
  'scheduler-faults': runSchedulerFaults,
};

const given = process.argv.slice(2);
const quick = given.includes('--quick');
const [name = '', ...others] = given.filter((argument) => argument !== '--quick');
const run = Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
if (run === undefined || others.length > 0) {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(benchmarks).join('|')} [--quick]\n`);
  process.exitCode = 1;
} else process.exitCode = await run(quick);
