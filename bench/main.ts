/** `npm run bench -- NAME [--quick] [...]`: runs one benchmark, prints its table and bars, exits 1 if a bar is missed. */
import { allUsage, parseAllOptions } from './all/options.ts';
import { runAll } from './all/run-all.ts';
import { runDecideBench } from './decide/run-decide.ts';
import { durabilityUsage, parseDurabilityOptions } from './durability/options.ts';
import { runDurabilityBench } from './durability/run-durability.ts';
import { runFanoutBench } from './fanout/run-fanout.ts';
import { runFairnessBench } from './fairness/run-fairness.ts';
import { runFloodMcpBench } from './flood-mcp/run-flood-mcp.ts';
import { floodUsage, parseFloodOptions } from './flood/options.ts';
import { runFloodBench } from './flood/run-flood.ts';
import { runIdleBench } from './idle/run-idle.ts';
import { runLongRuns } from './long-runs/run-long-runs.ts';
import { runOutsideBench } from './overhead-outside/run-overhead-outside.ts';
import { runOperateBench } from './operate/run-operate.ts';
import { overheadUsage, parseOverheadOptions } from './overhead/options.ts';
import { runOverheadBench } from './overhead/run-overhead.ts';
import { runRoutingBench } from './routing/run-routing.ts';
import { runScaleBench } from './scale/run-scale.ts';
import { runSchedulerFaultsBench } from './scheduler-faults.ts';
import { runSchedulerBench } from './scheduler.ts';
import { runStandbyBench } from './standby/run-standby.ts';
import { runStepsBench } from './steps/run-steps.ts';
import { runStepsOnCluster } from './steps-cluster/run-steps-cluster.ts';
import { runWaitsBench } from './waits/run-waits.ts';

/** @returns null when it does not know one of the words. */
type Benchmark = (words: readonly string[]) => Promise<0 | 1> | null;

function quickOnly(run: (quick: boolean) => Promise<0 | 1>): Benchmark {
  return (words) => (words.every((word) => word === '--quick') ? run(words.length > 0) : null);
}

const benchmarks: Readonly<Record<string, { readonly run: Benchmark; readonly usage: string }>> = {
  scheduler: { run: quickOnly(runSchedulerBench), usage: '[--quick]' },
  'scheduler-faults': { run: runSchedulerFaultsBench, usage: '[--quick] [--untimed]' },
  standby: { run: quickOnly(runStandbyBench), usage: '[--quick]' },
  steps: { run: quickOnly(runStepsBench), usage: '[--quick]' },
  'steps-cluster': { run: quickOnly(runStepsOnCluster), usage: '[--quick]' },
  'long-runs': { run: quickOnly(runLongRuns), usage: '[--quick]' },
  waits: { run: quickOnly(runWaitsBench), usage: '[--quick]' },
  decide: { run: quickOnly(runDecideBench), usage: '[--quick]' },
  idle: { run: quickOnly(runIdleBench), usage: '[--quick]' },
  fairness: { run: quickOnly(runFairnessBench), usage: '[--quick]' },
  'flood-mcp': { run: quickOnly(runFloodMcpBench), usage: '[--quick]' },
  fanout: { run: quickOnly(runFanoutBench), usage: '[--quick]' },
  scale: { run: quickOnly(runScaleBench), usage: '[--quick]' },
  operate: { run: quickOnly(runOperateBench), usage: '[--quick]' },
  'overhead-outside': { run: quickOnly(runOutsideBench), usage: '[--quick]' },
  overhead: {
    run: (words) => {
      const options = parseOverheadOptions(words);
      return options === null ? null : runOverheadBench(options);
    },
    usage: overheadUsage,
  },
  flood: {
    run: (words) => {
      const options = parseFloodOptions(words);
      return options === null ? null : runFloodBench(options);
    },
    usage: floodUsage,
  },
  routing: {
    run: (words) => {
      const options = parseFloodOptions(words);
      return options === null || options.engine !== 'simulated' ? null : runRoutingBench(options);
    },
    usage: '[--quick] [--arms=NAME,...] [--lanes=N]',
  },
  durability: {
    run: (words) => {
      const options = parseDurabilityOptions(words);
      return options === null ? null : runDurabilityBench(options);
    },
    usage: durabilityUsage,
  },
  all: {
    run: (words) => {
      const plan = parseAllOptions(words);
      if (plan === null) return null;
      return runAll(plan, {
        environment: process.env,
        progress: (line) => process.stderr.write(`${line}\n`),
        print: (text) => process.stdout.write(text),
      });
    },
    usage: allUsage,
  },
};

const words = process.argv.slice(2);
const name = words.find((word) => !word.startsWith('--')) ?? '';
const others = words.filter((word) => word !== name);
const running = Object.hasOwn(benchmarks, name) ? (benchmarks[name]?.run(others) ?? null) : null;
if (running === null) {
  process.stderr.write('usage:\n');
  for (const [known, { usage }] of Object.entries(benchmarks)) {
    process.stderr.write(`  npm run bench -- ${known} ${usage}\n`);
  }
  process.exitCode = 1;
} else process.exitCode = await running;
