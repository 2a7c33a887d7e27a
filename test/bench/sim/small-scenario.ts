/** A scenario small enough for tests: two replicas with memory for half of ten agents. */
import type { Scenario } from '../../../bench/sim/scenario.ts';
import { agents, memoryFor } from '../../../bench/sim/scenarios.ts';

const loads = [agents('batch', 8), agents('interactive', 2)];

export const small: Scenario = {
  name: 'small',
  about: 'eight batch and two interactive agents',
  replicas: memoryFor(0.5, loads),
  loads,
  warmUpMs: 5_000,
  windowMs: 30_000,
};

export const roomy: Scenario = { ...small, name: 'roomy', replicas: memoryFor(3, loads) };
