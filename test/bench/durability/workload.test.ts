import { describe, expect, it } from 'vitest';
import { parseDurabilityOptions } from '../../../bench/durability/options.ts';
import { indexOfTask, planRun, runKinds } from '../../../bench/durability/workload.ts';

describe('the workload of the durability bench', () => {
  const plans = Array.from({ length: 90 }, (_, index) => planRun(index, 1));
  const all = plans.flatMap((plan) => [plan, ...plan.below]);

  it('has runs of every kind, equally many, and the same for the same seed', () => {
    const ofKind = runKinds.map((kind) => plans.filter((plan) => plan.kind === kind).length);
    expect(new Set(ofKind)).toEqual(new Set([10]));
    expect(plans[7]).toEqual(planRun(7, 1));
  });

  it('gives every run a number, a request id and calls of its own', () => {
    expect(new Set(all.map((plan) => plan.index)).size).toBe(all.length);
    expect(new Set(all.map((plan) => plan.request['requestId'])).size).toBe(all.length);
    const calls = all.flatMap((plan) => plan.turns.flat()).filter((call) => call.tool !== 'wait');
    expect(new Set(calls.map((call) => JSON.stringify(call))).size).toBe(calls.length);
  });

  it('tells a run by its task', () => {
    for (const plan of all) expect(indexOfTask(String(plan.request['task']))).toBe(plan.index);
    expect(indexOfTask('Do the work of somebody else.')).toBeNull();
  });
});

describe('the words after `durability`', () => {
  it('shorten the bench or choose its seed, and no others are taken', () => {
    expect(parseDurabilityOptions([])).toMatchObject({ kills: 200, seed: 1 });
    expect(parseDurabilityOptions(['--quick'])?.kills).toBeLessThan(200);
    expect(parseDurabilityOptions(['--seed=7'])).toMatchObject({ kills: 200, seed: 7 });
    expect(parseDurabilityOptions(['--fast'])).toBeNull();
  });
});
