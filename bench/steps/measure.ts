/** The four measurements, each on a stack that is otherwise idle. They print nothing. */
import type { Gate } from './gate.ts';
import { cpuBetween, machineName, sampleCpu } from './process-cpu.ts';
import type { Plan } from './plan.ts';
import { awaitRuns, newTag, spawnRun, turnOfRequest, type RunPlan, type SpawnedRun } from './runs.ts';
import type { Site } from './site.ts';
import {
  historyGrowth,
  stepTimes,
  throughputOf,
  untilRunning,
  type EngineTurn,
  type StepTime,
  type Throughput,
  type ToolSpan,
} from './step-times.ts';

/** Turns of these runs as the engines have them on record. @throws Error for one that did not end. */
function turnsOf(site: Site, runs: readonly SpawnedRun[]): readonly EngineTurn[] {
  const wanted = new Set(runs.map(({ tag }) => tag));
  return site.engines.flatMap((engine) =>
    engine.requests().flatMap(({ body, arrivedAtMs, endedAtMs, phase }) => {
      const of = turnOfRequest(body);
      if (of === null || !wanted.has(of.tag)) return [];
      if (phase !== 'finished' || endedAtMs === null) throw new Error(`turn ${of.turn} of a run ${phase}`);
      return [{ run: of.tag, turn: of.turn, startMs: arrivedAtMs, endMs: endedAtMs }];
    }),
  );
}

/** The tool's record is short, so it is read after every run. */
function callsOf(site: Site, { handle, tag }: SpawnedRun): readonly ToolSpan[] {
  const lines = site.tools.calls().lines.filter((line) => line.idempotencyKey?.startsWith(`${handle}:`));
  return lines.flatMap((line) => {
    if (line.phase !== 'started') return [];
    const end = lines.find((other) => other.call === line.call && other.phase !== 'started');
    if (end?.phase !== 'finished') throw new Error(`a tool call of ${handle} ${end?.phase ?? 'did not end'}`);
    return [{ run: tag, startMs: Date.parse(line.at), endMs: Date.parse(end.at) }];
  });
}

/** Runs one after the other, with nothing beside them. */
export async function measureAlone(site: Site, plan: Plan): Promise<readonly StepTime[]> {
  const run: RunPlan = { steps: plan.alone.stepsPerRun, tool: 'lookup' };
  const steps: StepTime[] = [];
  for (let index = 0; index < plan.alone.runs; index += 1) {
    const spawned = await spawnRun(site.client, run);
    await awaitRuns(site.client, [spawned], run);
    steps.push(...stepTimes(turnsOf(site, [spawned]), callsOf(site, spawned)));
  }
  return steps;
}

export interface Together extends Throughput {
  /** Milliseconds of processor time a step, by process; null where it cannot be told. */
  readonly cpuMsPerStep: Readonly<Record<string, number | null>>;
  /** Processors that were busy with something else, of all the machine has; null where it cannot be told. */
  readonly foreignCores: number | null;
}

/**
 * Many runs side by side. @param gate at the engines: none begins its second turn before all have begun.
 * @returns null when they were never all under way at once.
 */
export async function measureTogether(site: Site, plan: Plan, gate?: Gate): Promise<Together | null> {
  const run: RunPlan = { steps: plan.together.stepsPerRun, tool: 'lookup' };
  const sampler = sampleCpu(site.pids);
  const tags = Array.from({ length: plan.together.runs }, newTag);
  gate?.close(tags);
  let runs: readonly SpawnedRun[];
  try {
    runs = await Promise.all(tags.map(async (tag) => await spawnRun(site.client, run, tag)));
    await awaitRuns(site.client, runs, run);
  } finally {
    gate?.open();
  }
  const samples = sampler.stop();
  const throughput = throughputOf(turnsOf(site, runs));
  if (throughput === null) return null;
  const { fromMs, toMs, steps } = throughput;
  const { [machineName]: machine, ...ours } = cpuBetween(samples, fromMs, toMs);
  const sum = Object.values(ours).reduce((total: number, ms) => total + (ms ?? Number.NaN), 0);
  return {
    ...throughput,
    cpuMsPerStep: Object.fromEntries(
      Object.entries(ours).map(([name, ms]) => [name, ms === null ? null : ms / steps]),
    ),
    foreignCores:
      typeof machine === 'number' && Number.isFinite(sum) ? (machine - sum) / (toMs - fromMs) : null,
  };
}

/** Milliseconds from the first spawn call until every run of a burst had its first turn at an engine. */
export async function measureBurst(site: Site, plan: Plan): Promise<number | null> {
  const run: RunPlan = { steps: 1, tool: 'lookup' };
  const sinceMs = Date.now();
  const runs = await Promise.all(
    Array.from({ length: plan.burst.runs }, async () => await spawnRun(site.client, run)),
  );
  await awaitRuns(site.client, runs, run);
  return untilRunning(turnsOf(site, runs), plan.burst.runs, sinceMs);
}

export interface HistorySizes {
  readonly none: number;
  readonly half: number;
  readonly all: number;
  readonly growth: number;
  readonly bytesPerStep: number;
}

/** Sizes of finished histories as Temporal counts them, of runs whose tool results have 1.2 KB. */
export async function measureHistory(site: Site, plan: Plan): Promise<HistorySizes> {
  const sizeOf = async (steps: number): Promise<number> => {
    const run: RunPlan = { steps, tool: 'deep_search' };
    const spawned = await spawnRun(site.client, run);
    await awaitRuns(site.client, [spawned], run);
    const { historySize } = await site.temporal.workflow.getHandle(spawned.handle).describe();
    if (historySize === undefined) throw new Error(`Temporal does not tell the size of ${spawned.handle}`);
    return historySize;
  };
  const { steps } = plan.history;
  const [none, half, all] = await Promise.all([sizeOf(0), sizeOf(steps), sizeOf(2 * steps)]);
  const sizes = { none, half, all };
  return { ...sizes, growth: historyGrowth(sizes), bytesPerStep: (all - none) / (2 * steps) };
}
