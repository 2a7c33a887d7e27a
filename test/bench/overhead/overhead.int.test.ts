/** The harness whole, with windows too short to mean anything: what it measures must be there, not be fast. */
import { describe, expect, it } from 'vitest';
import { planOf, type Plan } from '../../../bench/overhead/plan.ts';
import { runOverhead } from '../../../bench/overhead/run-overhead.ts';

const base = planOf(true);
const tiny: Plan = {
  ...base,
  warmUpRequests: 20,
  warmUpMs: 100,
  repeats: 1,
  rates: [{ ratePerSecond: 200, windowMs: 100 }],
  chunks: 3,
  closed: { connections: 2, warmUpMs: 50, windowMs: 300, chunks: 3 },
  soak: { requests: 200, warmUpRequests: 40, connections: 4, runs: 10, heldTurns: 30 },
};

describe('the overhead bench', () => {
  it('measures direct calls and fermata, and misses the bars against rivals that it does not run', async () => {
    const lines: string[] = [];
    const run = await runOverhead(
      { quick: true, soak: true, arms: ['direct', 'fermata'] },
      tiny,
      process.env,
      (line) => lines.push(line),
    );
    const values = new Map(run.bars.map(({ name, value }) => [name, value]));
    expect(run.bars.filter(({ value }) => value === null).map(({ name }) => name)).toEqual(
      ['litellm', 'portkey'].flatMap((rival) =>
        ['plain', 'streaming'].map((kind) => `overhead requests per second over ${rival}, ${kind}`),
      ),
    );
    expect(values.get('overhead soak requests answered')).toBe(200);
    expect(values.get('overhead soak requests failed')).toBe(0);
    expect(values.get('overhead soak turns left')).toBe(0);
    expect(values.get('overhead soak sockets left')).toBe(0);
    expect(values.get('overhead held turns left')).toBe(0);
    expect(values.get('overhead held sockets left')).toBe(0);
    expect(run.details).toMatchObject({
      open: [
        { arm: 'direct', result: { sent: 20, failed: 0, dropped: 0 } },
        { arm: 'fermata', result: { sent: 20, failed: 0, dropped: 0 } },
      ],
      soak: { held: { turns: 30 } },
    });
    expect(run.text).toContain('Load average');
    expect(lines).toContain('holding 30 turns');
  }, 240_000);
});
