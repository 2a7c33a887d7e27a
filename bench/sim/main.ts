/**
 * `npm run sim -- SCENARIO|all|fairness [--quick] [--seeds N] [--arm NAME]`: scheduling policies in virtual
 * time, the real core among them. Prints a table and one line a bar, writes `bench/results/sim-NAME.json`, and
 * exits 1 if a bar is missed. With `--arm` only those arms run and no bar is asked.
 */
import { bar, publish, type Bar } from '../bars.ts';
import { parseArguments, usage, type SimArguments } from './arguments.ts';
import { arms } from './arms/registry.ts';
import type { ArmKind } from './arms/arm.ts';
import { compare, type Comparison } from './compare.ts';
import { boundLines, floodBars } from './flood-bars.ts';
import type { Scenario } from './scenario.ts';
import { enoughMemory, flood } from './scenarios.ts';
import { comparisonTable } from './table.ts';

const scenarios: readonly Scenario[] = [flood, enoughMemory];

function seedsOf({ quick, seeds }: SimArguments): number[] {
  const count = seeds ?? (quick ? 2 : 5);
  return Array.from({ length: count }, (_, index) => (quick ? 1 : 1_001) + index);
}

function shortened(scenario: Scenario, quick: boolean): Scenario {
  return quick ? { ...scenario, windowMs: scenario.windowMs / 3 } : scenario;
}

function chosenArms(names: readonly string[]): readonly ArmKind[] {
  if (names.length === 0) return arms;
  return names.map((name) => {
    const found = arms.find((arm) => arm.name === name);
    if (found === undefined) {
      throw new Error(`no arm '${name}'; there are ${arms.map((arm) => arm.name).join(', ')}`);
    }
    return found;
  });
}

async function simulate(given: SimArguments): Promise<0 | 1> {
  const chosen = scenarios.filter(({ name }) => given.what === 'all' || name === given.what);
  if (chosen.length === 0) {
    throw new Error(`no scenario '${given.what}'; there are ${scenarios.map(({ name }) => name).join(', ')}`);
  }
  const kinds = chosenArms(given.arms);
  const startedMs = performance.now();
  const comparisons: Comparison[] = [];
  const bars: Bar[] = [];
  for (const scenario of chosen) {
    const comparison = compare(shortened(scenario, given.quick), kinds, seedsOf(given));
    comparisons.push(comparison);
    console.log(`\n${scenario.name}: ${scenario.about}`);
    console.log(comparisonTable(comparison));
    for (const line of boundLines(comparison)) console.log(line);
    if (scenario.name === 'flood') bars.push(...floodBars(comparison));
  }
  console.log(`\n${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  if (given.arms.length > 0) return 0;
  if (bars.length === 0) bars.push(bar('nothing', null, '>=', 0));
  return await publish(`sim-${given.what}`, bars, { details: { comparisons } });
}

try {
  process.exitCode = await simulate(parseArguments(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof Error ? error.message : `${String(error)}; ${usage}`);
  process.exitCode = 1;
}
