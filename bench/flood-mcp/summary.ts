/** Both sides of all repeats as a table, as bars and as a picture. Pure. */
import { bar, spreadBar, type Bar } from '../bars.ts';
import { ratioOver, spreadText } from '../overhead/statistics.ts';
import type { ChartSpec } from '../plots/chart.ts';
import { floodOverTime } from '../plots/flood-over-time.ts';
import type { MetricName } from '../sim/measure.ts';
import { spreadOf, type Spread } from '../sim/statistics.ts';
import { alignedTable } from '../sim/table.ts';
import type { Side } from '../sub-agents/sides.ts';
import { limits, type FloodMcpPlan } from './plan.ts';
import type { FloodMcpRepeat, FloodMcpWindow } from './window.ts';

const sides: readonly Side['name'][] = ['sglang-router', 'fermata'];

function windowsOf(repeats: readonly FloodMcpRepeat[], side: Side['name']): readonly FloodMcpWindow[] {
  return repeats.flatMap(({ windows }) => windows.filter((window) => window.side === side));
}

function values(repeats: readonly FloodMcpRepeat[], side: Side['name'], metric: MetricName) {
  return windowsOf(repeats, side).map(({ metrics }) => metrics[metric]);
}

export function overRouter(repeats: readonly FloodMcpRepeat[], metric: MetricName): Spread {
  return ratioOver(values(repeats, 'fermata', metric), values(repeats, 'sglang-router', metric));
}

export function floodMcpBars(repeats: readonly FloodMcpRepeat[]): readonly Bar[] {
  const compared = repeats.reduce((sum, { same }) => sum + same.compared, 0);
  const different = repeats.reduce((sum, { same }) => sum + same.different, 0);
  const failed = values(repeats, 'fermata', 'failedRuns').reduce<number>((sum, one) => sum + (one ?? 0), 0);
  return [
    spreadBar(
      'flood-mcp interactive runs/min over bare loops on the SGLang router',
      overRouter(repeats, 'interactiveRunsPerMinute'),
      '>=',
      limits.interactive,
    ),
    spreadBar(
      'flood-mcp batch runs/min over bare loops on the SGLang router',
      overRouter(repeats, 'batchRunsPerMinute'),
      '>=',
      limits.batch,
    ),
    bar('flood-mcp runs failed', failed, '=', 0),
    bar('flood-mcp same runs with other answers', compared === 0 ? null : different, '=', 0),
  ];
}

const seconds = ({ median, lowest, highest }: Spread): string => {
  const of = (value: number | null): number | null => (value === null ? null : value / 1_000);
  return spreadText({ median: of(median), lowest: of(lowest), highest: of(highest) }, 1);
};

export function floodMcpTable(repeats: readonly FloodMcpRepeat[]): string {
  const row = (side: Side['name']): string[] => {
    const of = (metric: MetricName): Spread => spreadOf(values(repeats, side, metric));
    return [
      side === 'fermata' ? 'sub-agents of fermata' : 'bare loops on the SGLang router',
      spreadText(of('interactiveRunsPerMinute'), 1),
      spreadText(of('batchRunsPerMinute'), 1),
      seconds(of('interactiveP50Ms')),
      seconds(of('batchP50Ms')),
      spreadText(of('failedRuns'), 0),
      spreadText(spreadOf(windowsOf(repeats, side).map(({ cores }) => cores)), 2),
    ];
  };
  return [
    alignedTable([
      ['', 'int runs/min', 'batch runs/min', 'int p50 s', 'batch p50 s', 'failed', 'cores'],
      ...sides.map(row),
      [
        'over it',
        spreadText(overRouter(repeats, 'interactiveRunsPerMinute'), 2),
        spreadText(overRouter(repeats, 'batchRunsPerMinute'), 2),
        spreadText(overRouter(repeats, 'interactiveP50Ms'), 2),
        spreadText(overRouter(repeats, 'batchP50Ms'), 2),
        '',
        '',
      ],
    ]),
    `Machine busy: ${spreadText(spreadOf(repeats.map(({ busyCores }) => busyCores)), 2)} processors. Same runs: ${repeats.reduce((sum, { same }) => sum + same.compared, 0)} compared, prompt tokens of fermata's over the bare loops' ${spreadText(spreadOf(repeats.map(({ same }) => same.promptRatio)), 3)}.`,
    ...repeats.flatMap(({ windows }) =>
      windows.flatMap(({ side, faults }) => faults.map((fault) => `lost by ${side}: ${fault}`)),
    ),
  ].join('\n');
}

/** Runs a minute over the time of the first repeat. */
export function floodMcpChart(
  repeats: readonly FloodMcpRepeat[],
  { scenario }: FloodMcpPlan,
  serviceClass: 'interactive' | 'batch',
  note: string,
): ChartSpec {
  return floodOverTime({
    title: `Flood through MCP: ${serviceClass} runs a minute`,
    note,
    endMs: scenario.warmUpMs + scenario.windowMs,
    arms: sides.flatMap((side) => {
      const [first] = windowsOf(repeats, side);
      const name = side === 'fermata' ? 'sub-agents of fermata' : 'bare loops, SGLang router';
      return first === undefined ? [] : [{ name, endedAtMs: first.endedAtMs[serviceClass] }];
    }),
  });
}
