/**
 * One repeat: both sides at the same time, each over engines of its own, so that whatever else the machine does
 * it does to both. A warm-up that is not counted, then the time that is.
 */
import { closeInReverse } from '../../cli/close-in-reverse.ts';
import type { WindowSite } from '../flood/window.ts';
import type { StartRival } from '../rivals/rival.ts';
import { measure, type Metrics } from '../sim/measure.ts';
import type { RunRecord } from '../sim/recorder.ts';
import { cpuBetween, machineName, sampleCpu } from '../steps/process-cpu.ts';
import { compareWork, startCrew, type RunningCrew, type SameWork } from '../sub-agents/crew.ts';
import { startBareSide, startFermataSide, type Side } from '../sub-agents/sides.ts';
import type { FloodMcpPlan } from './plan.ts';

export interface FloodMcpWindow {
  readonly side: Side['name'];
  readonly version: string | null;
  readonly seed: number;
  readonly metrics: Metrics;
  /** When runs ended, in ms after the start of the agents, warm-up included. */
  readonly endedAtMs: { readonly interactive: readonly number[]; readonly batch: readonly number[] };
  readonly faults: readonly string[];
  /** Processors that its processes took over the counted time, together and each; null: it cannot be told. */
  readonly cores: number | null;
  readonly coresOf: Readonly<Record<string, number | null>>;
}

export interface FloodMcpRepeat {
  readonly windows: readonly FloodMcpWindow[];
  readonly same: SameWork;
  /** Processors of the machine that were busy; null: it cannot be told. */
  readonly busyCores: number | null;
}

export async function runRepeat(
  { scenario }: FloodMcpPlan,
  seed: number,
  site: WindowSite,
  startRouter?: StartRival,
): Promise<FloodMcpRepeat> {
  const sides: Side[] = [];
  try {
    const plan = { scenario, seed, tool: 'lookup' } as const;
    sides.push(await startFermataSide(plan, site), await startBareSide(plan, site, startRouter));
    const crews = sides.map(({ carryOut }) => startCrew({ loads: scenario.loads, seed, carryOut }));
    return await watch(sides, crews, seed, scenario);
  } finally {
    await closeInReverse(sides);
  }
}

async function watch(
  sides: readonly Side[],
  crews: readonly RunningCrew[],
  seed: number,
  { warmUpMs, windowMs }: FloodMcpPlan['scenario'],
): Promise<FloodMcpRepeat> {
  const endMs = warmUpMs + windowMs;
  await Promise.all(crews.map(async (crew) => await crew.until(warmUpMs)));
  const pids = sides.flatMap(({ name, pids: own }) =>
    Object.entries(own).map(([process, pid]) => [`${name}: ${process}`, pid] as const),
  );
  const cpu = sampleCpu(Object.fromEntries(pids));
  const fromMs = Date.now();
  await Promise.all(crews.map(async (crew) => await crew.until(endMs)));
  const toMs = Date.now();
  const used = cpuBetween(cpu.stop(), fromMs, toMs);
  const found = crews.map((crew) => crew.stop());
  const windows = sides.map(({ name, version }, index): FloodMcpWindow => {
    const runs = upTo(found[index]?.runs ?? [], endMs);
    const own = Object.entries(used).filter(([process]) => process.startsWith(`${name}: `));
    const ms = own.reduce((sum, [, one]) => sum + (one ?? Number.NaN), 0);
    return {
      side: name,
      version,
      seed,
      metrics: measure({ runs, turns: [], startMs: warmUpMs, endMs, preemptions: 0 }),
      endedAtMs: { interactive: endsOf(runs, 'interactive'), batch: endsOf(runs, 'batch') },
      faults: found[index]?.faults ?? [],
      cores: Number.isFinite(ms) ? ms / (toMs - fromMs) : null,
      coresOf: Object.fromEntries(
        own.map(([process, one]) => [
          process.slice(name.length + 2),
          one === null ? null : one / (toMs - fromMs),
        ]),
      ),
    };
  });
  const machineMs = used[machineName] ?? null;
  return {
    windows,
    same: compareWork(found[1]?.outcomes ?? new Map(), found[0]?.outcomes ?? new Map()),
    busyCores: machineMs === null ? null : machineMs / (toMs - fromMs),
  };
}

function upTo(runs: readonly RunRecord[], endMs: number): RunRecord[] {
  return runs
    .filter(({ startedAtMs }) => startedAtMs <= endMs)
    .map((run) => ({
      ...run,
      endedAtMs: run.endedAtMs === null || run.endedAtMs > endMs ? null : run.endedAtMs,
    }));
}

function endsOf(runs: readonly RunRecord[], serviceClass: string): number[] {
  return runs.flatMap((run) =>
    run.class === serviceClass && run.endedAtMs !== null && !run.failed ? [Math.round(run.endedAtMs)] : [],
  );
}
