/** Thousands of events with faults, from seeds; a seed that fails is named in the failure. */
import { describe, expect, it } from 'vitest';
import { createState } from '../../../scheduler/core/state.ts';
import { step } from '../../../scheduler/core/step.ts';
import { Simulation, simulatedCallers, simulatedPolicy, type SimulationResult } from './simulation.ts';

/** Seeds beside those always run: `FERMATA_SIM_SEEDS=100-200 npx vitest run --project pure test/scheduler/core/simulation`. */
const [from = 1, to = 8] = (process.env['FERMATA_SIM_SEEDS'] ?? '').split('-').filter(Boolean).map(Number);
const seeds = Array.from({ length: to - from + 1 }, (_value, index) => from + index);

function simulate(seed: number, steps: number): { simulation: Simulation; result: SimulationResult } {
  const simulation = new Simulation({ seed, steps });
  try {
    return { simulation, result: simulation.run() };
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

describe.each(seeds)('seed %i', (seed) => {
  it('admits no turn twice, loses none, keeps every count right, and leaves nothing behind', () => {
    const { simulation, result } = simulate(seed, 3_000);
    expect(result.turnsServed).toBeGreaterThan(300);
    expect(Object.keys(result.faults).length).toBeGreaterThanOrEqual(8);
    expect(result.state.heldTurns).toBe(0);
    simulation.rest(2_000_000);
    const { turns, runs, callers, losses, silences, ageing, reservations, resting, proxies } = result.state;
    expect({
      turns: turns.size,
      runs: runs.size,
      callers: callers.size,
      losses: losses.size,
      heaps: silences.size + ageing.size + reservations.size + resting.size,
    }).toEqual({ turns: 0, runs: 0, callers: 0, losses: 0, heaps: 0 });
    expect([...proxies.values()].every((proxy) => proxy.lostAtMs === null)).toBe(true);
  }, 60_000);
});

it('gives the same effects when its log is replayed', () => {
  const { result } = simulate(99, 2_000);
  const state = createState(simulatedPolicy(99), simulatedCallers);
  const log = JSON.parse(JSON.stringify(result.log)) as typeof result.log;
  expect(log.map((event) => step(state, event))).toEqual(result.effects);
}, 60_000);
