/** What was measured as tables, bars and a picture; says where the knee is and whose it is. Pure. */
import { bar, spreadBar, type Bar } from '../bars.ts';
import { spreadText } from '../overhead/statistics.ts';
import type { ChartSpec } from '../plots/chart.ts';
import { ownName } from '../steps/process-cpu.ts';
import { median, spreadOf, type Spread } from '../sim/statistics.ts';
import { alignedTable } from '../sim/table.ts';
import type { AwaitingResult } from './awaiting.ts';
import { kneeOf, kneeText, type Knee, type ScalePoint } from './knee.ts';
import { limits } from './plan.ts';
import type { ProxyWindow } from './proxies.ts';
import type { WorkerWindow } from './workers.ts';

export interface ScaleResult {
  readonly proxies: readonly ProxyWindow[];
  readonly workers: readonly WorkerWindow[];
  readonly awaiting: AwaitingResult;
  readonly cores: number;
}

function countsOf<Window>(windows: readonly Window[], count: (window: Window) => number): readonly number[] {
  return [...new Set(windows.map(count))].toSorted((a, b) => a - b);
}

const middle = (values: readonly (number | null)[]): number | null =>
  values.some((value) => value === null) ? null : median(values.filter((value) => value !== null));

export function proxyPoints(windows: readonly ProxyWindow[]): readonly ScalePoint[] {
  return countsOf(windows, ({ proxies }) => proxies).map((count) => {
    const own = windows.filter(({ proxies }) => proxies === count);
    return {
      count,
      perSecond: middle(own.map(({ requestsPerSecond }) => requestsPerSecond)) ?? 0,
      busyCores: middle(own.map(({ busyCores }) => busyCores)),
      cores: proxyKinds.map((kind) => ({
        kind,
        // Of the others there is one a proxy.
        processes: kind === 'scheduler' || kind === 'engine' ? 1 : 0,
        cores: middle(own.map(({ cores }) => cores[kind] ?? null)),
      })),
    };
  });
}

const proxyKinds = ['scheduler', 'proxies', 'engine', 'load'] as const;

/** Processors that all processes used while the runs were under way. */
function workerBusyCores({ together }: WorkerWindow): number | null {
  if (together === null || together.foreignCores === null) return null;
  const ms = Object.values(together.cpuMsPerStep).reduce((sum: number, one) => sum + (one ?? Number.NaN), 0);
  return Number.isFinite(ms) ? (ms * together.stepsPerSecond) / 1_000 + together.foreignCores : null;
}

export function workerPoints(windows: readonly WorkerWindow[]): readonly ScalePoint[] {
  return countsOf(windows, ({ workers }) => workers).map((count) => {
    const own = windows.filter(({ workers }) => workers === count);
    return {
      count,
      perSecond: middle(own.map(({ together }) => together?.stepsPerSecond ?? null)) ?? 0,
      busyCores: middle(own.map(workerBusyCores)),
      cores: workerKinds(windows).map((kind) => ({
        kind,
        // Temporal's program and a worker use more than one processor; the others have one each.
        processes: ['scheduler', 'proxy', 'mcp-server', ownName].includes(kind) ? 1 : 0,
        cores: workerCores(own, kind),
      })),
    };
  });
}

/** `worker 2` is one more `worker`. */
const kindOfProcess = (name: string): string => name.replace(/ \d+$/, '');

function workerKinds(windows: readonly WorkerWindow[]): readonly string[] {
  const names = windows.flatMap(({ together }) => Object.keys(together?.cpuMsPerStep ?? {}));
  return [...new Set(names.map(kindOfProcess))];
}

/** Processors that the processes of a kind used together. */
function workerCores(windows: readonly WorkerWindow[], kind: string): number | null {
  return middle(
    windows.map(({ together }) => {
      if (together === null) return null;
      const all = Object.entries(together.cpuMsPerStep).filter(([name]) => kindOfProcess(name) === kind);
      const ms = all.reduce((sum, [, one]) => sum + (one ?? Number.NaN), 0);
      return Number.isFinite(ms) ? (ms * together.stepsPerSecond) / 1_000 : null;
    }),
  );
}

/** Processor time of a turn in the proxies over that in the scheduler, window by window. */
export function proxiesOfOneScheduler(windows: readonly ProxyWindow[]): Spread {
  return spreadOf(
    windows.map(({ cores: { scheduler, proxies } }) =>
      typeof scheduler === 'number' && typeof proxies === 'number' && scheduler > 0
        ? proxies / scheduler
        : null,
    ),
  );
}

/** 1 for a knee that is not the machine's, 0 for none; null: nothing was measured. */
function ownKnees(points: readonly ScalePoint[], cores: number): number | null {
  if (points.length < 2 || points.some(({ perSecond }) => perSecond <= 0)) return null;
  const knee = kneeOf(points, cores);
  return knee === null || knee.why === 'machine' ? 0 : 1;
}

export function scaleBars({ proxies, workers, awaiting, cores }: ScaleResult): readonly Bar[] {
  return [
    bar("scale proxies, knees before the machine's", ownKnees(proxyPoints(proxies), cores), '=', 0),
    spreadBar(
      'scale proxies that one scheduler can feed',
      proxiesOfOneScheduler(proxies),
      '>=',
      limits.proxiesOfOneScheduler,
    ),
    bar(
      'scale requests failed',
      proxies.reduce((sum, { failed }) => sum + failed, 0),
      '=',
      0,
    ),
    bar("scale workers, knees before the machine's", ownKnees(workerPoints(workers), cores), '=', 0),
    bar(`scale runs awaited at once`, awaiting.completed, '=', awaiting.runs),
    bar(
      'scale runs per second at once over in waves',
      awaiting.runsPerSecond / awaiting.runsPerSecondInWaves,
      '>=',
      limits.atOnceOverWaves,
    ),
  ];
}

const text = (value: number | null | undefined, digits: number): string =>
  typeof value === 'number' ? value.toFixed(digits) : '-';

function proxyTable(windows: readonly ProxyWindow[]): string {
  const kinds = proxyKinds;
  const rows = countsOf(windows, ({ proxies }) => proxies).map((count) => {
    const own = windows.filter(({ proxies }) => proxies === count);
    const scheduler = middle(own.map(({ cores }) => cores['scheduler'] ?? null));
    const rate = middle(own.map(({ requestsPerSecond }) => requestsPerSecond));
    return [
      String(count),
      spreadText(spreadOf(own.map(({ requestsPerSecond }) => requestsPerSecond)), 0),
      spreadText(spreadOf(own.map(({ p50Ms }) => p50Ms)), 1),
      ...kinds.map((kind) => text(middle(own.map(({ cores }) => cores[kind] ?? null)), 2)),
      text(middle(own.map(({ busyCores }) => busyCores)), 2),
      text(scheduler === null || rate === null ? null : rate / scheduler, 0),
    ];
  });
  const head = [
    'proxies',
    'requests/s',
    'p50 ms',
    ...kinds.map((kind) => `${kind} cores`),
    'all cores',
    'requests/s a scheduler core',
  ];
  return alignedTable([head, ...rows]);
}

function workerTable(windows: readonly WorkerWindow[]): string {
  const kinds = workerKinds(windows);
  const rows = countsOf(windows, ({ workers }) => workers).map((count) => {
    const own = windows.filter(({ workers }) => workers === count);
    return [
      String(count),
      spreadText(spreadOf(own.map(({ together }) => together?.stepsPerSecond ?? null)), 1),
      ...kinds.map((kind) => text(workerCores(own, kind), 2)),
      text(middle(own.map(workerBusyCores)), 2),
    ];
  });
  return alignedTable([
    ['workers', 'steps/s', ...kinds.map((kind) => `${kind} cores`), 'all cores'],
    ...rows,
  ]);
}

function awaitingText(result: AwaitingResult): string {
  const { runs, completed, atOnceSeconds, spawnedSeconds, runsPerSecond, runsPerSecondInWaves, busyCores } =
    result;
  const used = Object.entries(result.cores).map(([name, cores]) => `${name} ${text(cores, 2)}`);
  const memory = Object.entries(result.mostMiB).map(([name, mib]) => `${name} ${mib.toFixed(0)}`);
  return [
    `${runs} runs at once: ${completed} completed in ${atOnceSeconds.toFixed(1)} s (all spawned after ${spawnedSeconds.toFixed(1)} s), ${runsPerSecond.toFixed(1)} runs/s; in waves ${runsPerSecondInWaves.toFixed(1)} runs/s`,
    `  cores: ${used.join(', ')}; all ${text(busyCores, 2)}`,
    `  most MiB: ${memory.join(', ')}`,
    ...result.faults.map((fault) => `  lost: ${fault}`),
  ].join('\n');
}

export function scaleText(result: ScaleResult): string {
  const knees = (part: string, points: readonly ScalePoint[]): string => {
    const knee: Knee | null = kneeOf(points, result.cores);
    return kneeText(part, knee, points.at(-1), result.cores);
  };
  return [
    proxyTable(result.proxies),
    knees('proxies', proxyPoints(result.proxies)),
    '',
    workerTable(result.workers),
    knees('workers', workerPoints(result.workers)),
    '',
    awaitingText(result.awaiting),
  ].join('\n');
}

/** Throughput over that of one, for proxies and workers. */
export function scaleChart(result: ScaleResult, note: string): ChartSpec {
  const over = (name: string, points: readonly ScalePoint[]): ChartSpec['series'][number] => ({
    name,
    dots: true,
    points: points.map(({ count, perSecond }) => ({
      x: count,
      y: perSecond / (points[0]?.perSecond ?? Number.NaN),
    })),
  });
  return {
    title: 'Throughput over that of one process',
    note,
    x: { label: 'processes' },
    y: { label: 'times that of one' },
    series: [
      over('proxies, requests/s', proxyPoints(result.proxies)),
      over('workers, steps/s', workerPoints(result.workers)),
    ],
  };
}
