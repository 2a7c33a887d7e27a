/**
 * `npm run bench -- scheduler-faults [--quick] [--untimed]`: the scheduler's core under thousands of seeded fault runs, each
 * some hundred events long, its invariants counted anew every few events and at the end. A seed that fails is
 * printed with what broke; `FERMATA_SIM_SEEDS=N-N npx vitest run --project pure test/scheduler/core/simulation`
 * runs it again with a check after each step. `--untimed` is for a machine that does other things beside it.
 */
import { Simulation } from '../test/scheduler/core/simulation.ts';
import { bar, publish } from './bars.ts';

const steps = 250;
/** Prime to the rhythm of the simulation. */
const checkEvery = 7;
const limitSeconds = 120;

/** @returns the exit code; null when it does not know one of the words. */
export function runSchedulerFaultsBench(words: readonly string[]): Promise<0 | 1> | null {
  const quick = words.includes('--quick');
  const timed = !words.includes('--untimed');
  const known = words.every((word) => word === '--quick' || word === '--untimed');
  return known ? runSchedulerFaults(quick, timed) : null;
}

async function runSchedulerFaults(quick: boolean, timed: boolean): Promise<0 | 1> {
  const runs = quick ? 1_000 : 10_000;
  const startedMs = performance.now();
  const failures: { readonly seed: number; readonly fault: string }[] = [];
  const faults: Record<string, number> = {};
  let events = 0;
  let longestHoldMs = 0;
  for (let seed = 1; seed <= runs; seed += 1) {
    try {
      const result = new Simulation({ seed, steps, checkEvery }).run();
      events += result.log.length;
      longestHoldMs = Math.max(longestHoldMs, result.longestHoldMs);
      for (const [name, count] of Object.entries(result.faults)) faults[name] = (faults[name] ?? 0) + count;
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error);
      failures.push({ seed, fault });
      console.log(`seed ${seed}: ${fault}`);
    }
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(
    `${runs} runs, ${events} events, longest hold ${Math.round(longestHoldMs / 1_000)} s of virtual time`,
  );
  console.log(
    Object.entries(faults)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
  );
  return await publish(
    'scheduler-faults',
    [
      bar('scheduler fault runs broken', failures.length, '=', 0),
      bar('scheduler fault runs', runs, '>=', quick ? 1_000 : 10_000),
      ...(timed ? [bar('scheduler fault runs s', seconds, '<=', limitSeconds)] : []),
    ],
    { details: { failures, faults, events, longestHoldMs, steps, checkEvery } },
  );
}
