import { describe, expect, it } from 'vitest';
import { parseFloodOptions } from '../../../bench/flood/options.ts';
import { planOf } from '../../../bench/flood/plan.ts';

describe('the command line of the flood', () => {
  it('knows its words', () => {
    expect(parseFloodOptions([])).toEqual({ quick: false, engine: 'simulated', arms: null, lanes: null });
    expect(parseFloodOptions(['--quick', '--engine=llamacpp', '--arms=smg,residency', '--lanes=3'])).toEqual({
      quick: true,
      engine: 'llamacpp',
      arms: ['smg', 'residency'],
      lanes: 3,
    });
  });

  it.each(['--engine=vllm', '--arms=', '--lanes=0', '--lanes=x', '--soak', 'flood'])('refuses %s', (word) => {
    expect(parseFloodOptions([word])).toBeNull();
  });

  it('shortens nothing but the windows when it shall be quick', () => {
    const [whole, quick] = [planOf('simulated', false, 2), planOf('simulated', true, 2)];
    expect(quick.scenario.windowMs).toBeLessThan(whole.scenario.windowMs);
    expect({ ...quick, scenario: { ...quick.scenario, windowMs: 0, warmUpMs: 0 } }).toEqual({
      ...whole,
      scenario: { ...whole.scenario, windowMs: 0, warmUpMs: 0 },
    });
    expect(quick.repeats).toBeGreaterThanOrEqual(3);
  });
});
