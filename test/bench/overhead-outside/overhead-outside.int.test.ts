/** Real wrk, where it can be had, for a second: both generators find both arms. */
import { expect, it } from 'vitest';
import { planOf } from '../../../bench/overhead-outside/plan.ts';
import { runOutside } from '../../../bench/overhead-outside/run-overhead-outside.ts';
import { outsideBars } from '../../../bench/overhead-outside/summary.ts';
import { ensureWrk } from '../../../bench/overhead-outside/wrk-program.ts';
import { toolsDir } from '../../../bench/site/work-dir.ts';
import { SetupFault } from '../../../cli/setup/setup-fault.ts';

it('measures the same arms with wrk and with our own load generator', async (context) => {
  try {
    await ensureWrk(toolsDir, () => {});
  } catch (error) {
    if (!(error instanceof SetupFault)) throw error;
    context.skip(error.message);
  }
  const plan = { ...planOf(true), repeats: 1, warmUpRequests: 20 };
  const { result, wrkVersion } = await runOutside(plan, process.env, () => {});
  expect(wrkVersion).toMatch(/^\d+\.\d+/);
  for (const window of [...result.paced, ...(result.closed ?? [])]) {
    expect(window.requests, `${window.generator} ${window.arm}`).toBeGreaterThan(0);
    expect(window.failed, `${window.generator} ${window.arm}`).toBe(0);
  }
  expect(result.paced.map(({ generator, arm }) => `${generator} ${arm}`).toSorted()).toEqual([
    'ours direct',
    'ours fermata',
    'wrk direct',
    'wrk fermata',
  ]);
  expect(outsideBars(result)[0]?.value).not.toBeNull();
}, 180_000);
