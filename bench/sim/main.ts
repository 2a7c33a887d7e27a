/**
 * `npm run sim -- SCENARIO|all|fairness [--quick] [--seeds N] [--arm NAME]`: scheduling policies in virtual
 * time, the real core among them. Prints a table and one line a bar, writes `bench/results/sim-NAME.json`, and
 * exits 1 if a bar is missed. With `--arm` only those arms run and no bar is asked.
 */
import { publish, type Bar } from '../bars.ts';
import { allBars, lossLines } from './all-bars.ts';
import { parseArguments, usage, type SimArguments } from './arguments.ts';
import { arms, defaultArm } from './arms/registry.ts';
import type { ArmKind } from './arms/arm.ts';
import { compareFairness, fairnessArms, fairnessBars, fairnessScenarios, fairnessTable } from './fairness.ts';
import { compare, type Comparison } from './compare.ts';
import { boundLines, floodBars } from './flood-bars.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { comparisonTable } from './table.ts';

function seedsOf({ what, quick, seeds }: SimArguments): number[] {
  const count = seeds ?? (quick ? 2 : what === 'all' ? 3 : 5);
  return Array.from({ length: count }, (_, index) => (quick ? 1 : 1_001) + index);
}

function shortened(scenario: Scenario, quick: boolean): Scenario {
  return quick ? { ...scenario, windowMs: scenario.windowMs / 3 } : scenario;
}

function chosenArms(known: readonly ArmKind[], names: readonly string[]): readonly ArmKind[] {
  if (names.length === 0) return known;
  return names.map((name) => {
    const found = known.find((arm) => arm.name === name);
    if (found === undefined) {
      throw new Error(`no arm '${name}'; there are ${known.map((arm) => arm.name).join(', ')}`);
    }
    return found;
  });
}

async function simulateFairness(given: SimArguments): Promise<0 | 1> {
  const kinds = chosenArms(fairnessArms(), given.arms);
  const seeds = seedsOf(given);
  const results = compareFairness(kinds, seeds, (scenario) => shortened(scenario, given.quick));
  for (const { name, about } of fairnessScenarios) console.log(`${name}: ${about}`);
  console.log(fairnessTable(results));
  if (given.arms.length > 0) return 0;
  return await publish('sim-fairness', fairnessBars(results), { details: { seeds, results } });
}

async function simulate(given: SimArguments): Promise<0 | 1> {
  if (given.what === 'fairness') return await simulateFairness(given);
  const chosen = scenarios.filter(({ name }) => given.what === 'all' || name === given.what);
  if (chosen.length === 0) {
    throw new Error(
      `no scenario '${given.what}'; there are all, fairness, ${scenarios.map(({ name }) => name).join(', ')}`,
    );
  }
  const kinds = chosenArms(arms, given.arms);
  const startedMs = performance.now();
  const comparisons: Comparison[] = [];
  const bars: Bar[] = [];
  for (const scenario of chosen) {
    const comparison = compare(shortened(scenario, given.quick), kinds, seedsOf(given));
    comparisons.push(comparison);
    console.log(`\n${scenario.name}: ${scenario.about}`);
    console.log(comparisonTable(comparison));
    if (scenario.name === 'flood') for (const line of boundLines(comparison)) console.log(line);
    if (given.what === 'flood') bars.push(...floodBars(comparison));
    else bars.push(...allBars(comparison, defaultArm.name));
  }
  console.log('');
  for (const comparison of comparisons) {
    for (const line of lossLines(comparison, defaultArm.name)) console.log(line);
  }
  console.log(`${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  if (given.arms.length > 0) return 0;
  return await publish(`sim-${given.what}`, bars, { details: { comparisons } });
}

try {
  process.exitCode = await simulate(parseArguments(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof Error ? error.message : `${String(error)}; ${usage}`);
  process.exitCode = 1;
}
