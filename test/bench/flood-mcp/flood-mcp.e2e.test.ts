/** The harness whole, with four agents for some seconds: both sides do the same work, and nothing is lost. */
import { expect, it } from 'vitest';
import { runFloodMcp } from '../../../bench/flood-mcp/run-flood-mcp.ts';
import { floodMcpBars, floodMcpChart, floodMcpTable } from '../../../bench/flood-mcp/summary.ts';
import { chartSvg } from '../../../bench/plots/chart.ts';
import { agents, memoryFor } from '../../../bench/sim/scenarios.ts';
import { noRouter } from '../sub-agents/no-router.ts';

it('floods through MCP and in bare loops at once, with the same answers', async () => {
  const fields = { toolCalls: { lowest: 1, highest: 1 }, promptTokens: { lowest: 500, highest: 520 } };
  const loads = [agents('batch', 2, fields), agents('interactive', 2, fields)];
  const scenario = {
    name: 'small-flood',
    about: 'four agents',
    loads,
    replicas: memoryFor(2, loads),
    warmUpMs: 5_000,
    windowMs: 6_000,
  };
  const repeats = await runFloodMcp({ scenario, repeats: 1 }, process.env, () => {}, noRouter);
  const [repeat] = repeats;
  expect(repeat?.same.compared).toBeGreaterThan(0);
  expect(repeat?.same.different).toBe(0);
  // The same prompts, but for how each of them describes the tool.
  expect(Math.abs((repeat?.same.promptRatio ?? 0) - 1)).toBeLessThan(0.05);
  expect(repeat?.windows.flatMap(({ faults }) => faults)).toEqual([]);
  const runs = repeat?.windows.map(
    ({ metrics }) => (metrics.batchRunsPerMinute ?? 0) + (metrics.interactiveRunsPerMinute ?? 0),
  );
  expect(runs).toHaveLength(2);
  expect(Math.min(...(runs ?? []))).toBeGreaterThan(0);
  expect(floodMcpBars(repeats).map(({ name }) => name)).toContain('flood-mcp runs failed');
  expect(floodMcpTable(repeats)).toContain('sub-agents of fermata');
  expect(chartSvg(floodMcpChart(repeats, { scenario, repeats: 1 }, 'batch', ''))).toContain('</svg>');
}, 240_000);
