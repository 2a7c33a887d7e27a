/** The harness whole, with so little work that it means nothing. */
import { expect, it } from 'vitest';
import { planOf } from '../../../bench/idle/plan.ts';
import { idleBars, idleTable, overDirect, runIdle } from '../../../bench/idle/run-idle.ts';

it('does the same runs directly and through fermata, and tells the ratios', async () => {
  const plan = { ...planOf(true), runsPerAgent: 1, repeats: 1 };
  const repeats = await runIdle(plan, process.env, () => {});
  expect(repeats).toHaveLength(1);
  expect(repeats[0]).toMatchObject({ compared: 4, different: 0 });
  const values = new Map(idleBars(repeats).map(({ name, value }) => [name, value]));
  expect(values.get('idle replies wrong or lost')).toBe(0);
  expect([...values.values()].filter((value) => value === null)).toEqual([]);
  expect(overDirect(repeats, 'turnP50Ms').median).toBeGreaterThan(0);
  expect(idleTable(repeats)).toContain('over direct');
}, 120_000);
