/** The harness whole, with loads too small to mean anything. */
import { expect, it } from 'vitest';
import { planOf } from '../../../bench/scale/plan.ts';
import { runScale } from '../../../bench/scale/run-scale.ts';
import { scaleBars, scaleChart, scaleText } from '../../../bench/scale/summary.ts';
import { chartSvg } from '../../../bench/plots/chart.ts';

it('measures one and two proxies, one and two workers, and runs that are awaited at once', async () => {
  const plan = {
    ...planOf(true),
    repeats: 1,
    counts: [1, 2],
    proxies: { connections: 4, warmUpMs: 50, windowMs: 300, chunks: 2 },
    workers: { runs: 6, stepsPerRun: 4 },
    awaiting: { clients: 2, runsPerClient: 4, stepsPerRun: 1, wavesCompared: 1 },
  };
  const result = await runScale(plan, process.env, () => {});
  expect(result.proxies.map(({ proxies }) => proxies)).toEqual([1, 2]);
  for (const { requestsPerSecond, failed, cores } of result.proxies) {
    expect(requestsPerSecond).toBeGreaterThan(0);
    expect(failed).toBe(0);
    expect(cores['proxies']).toBeGreaterThan(0);
  }
  expect(result.workers.map(({ workers }) => workers)).toEqual([1, 2]);
  expect(result.awaiting).toMatchObject({ runs: 8, completed: 8, faults: [] });
  expect(scaleBars(result)).toHaveLength(6);
  expect(scaleText(result)).toContain('8 runs at once');
  expect(chartSvg(scaleChart(result, ''))).toContain('</svg>');
}, 240_000);
