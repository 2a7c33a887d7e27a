/** The harness whole, three runs wide, with a tool of 50 ms: what it measures must be there, not be fast. */
import { expect, it } from 'vitest';
import { planOf } from '../../../bench/fanout/plan.ts';
import { fanoutBars, fanoutTable, runFanout } from '../../../bench/fanout/run-fanout.ts';
import { agents } from '../../../bench/sim/scenarios.ts';
import { noRouter } from '../sub-agents/no-router.ts';

it('fans out through MCP, in bare loops and one after the other, with the same answers', async () => {
  const load = agents('interactive', 3, {
    promptTokens: { lowest: 700, highest: 720 },
    tools: [{ name: 'wait', share: 1, durationMs: { lowest: 50, highest: 50 } }],
  });
  const plan = { ...planOf(true), load, width: 3, sequentialRuns: 1, repeats: 1 };
  const { repeats } = await runFanout(plan, process.env, () => {}, noRouter);
  expect(repeats).toHaveLength(1);
  expect(repeats[0]?.faults).toEqual([]);
  for (const seconds of Object.values(repeats[0]?.seconds ?? {})) expect(seconds).toBeGreaterThan(0.1);
  expect(fanoutBars(repeats).filter(({ value }) => value === null)).toEqual([]);
  expect(fanoutTable(repeats, plan)).toContain('1 of them, scaled up');
}, 240_000);
