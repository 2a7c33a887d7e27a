/**
 * One window: new engines and one arm before them; then the agents, a warm-up that is not counted, and the time
 * that is.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import { startAgents, type AgentsFound } from '../agents/agents.ts';
import { measure, type Metrics } from '../sim/measure.ts';
import type { Recording } from '../sim/recorder.ts';
import type { Scenario } from '../sim/scenario.ts';
import { processCpuMs } from '../steps/process-cpu.ts';
import type { Arm } from './arms.ts';
import { startLlamaEngines, startSimulatedEngines, type RunningEngines } from './engines.ts';
import type { EngineChoice } from './plan.ts';
import type { DialogueKind } from '../agents/dialogue.ts';

export interface WindowSite {
  /** Each window gets a folder of its own in it. */
  readonly workDir: string;
  readonly toolsDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly progress: Progress;
}

export interface WindowPlan {
  readonly engine: EngineChoice;
  readonly dialogue: DialogueKind;
  readonly scenario: Scenario;
}

export interface WindowFound {
  readonly arm: string;
  readonly seed: number;
  readonly version: string | null;
  readonly metrics: Metrics;
  /** When runs ended, in ms after the start of the agents, warm-up included. */
  readonly endedAtMs: { readonly interactive: readonly number[]; readonly batch: readonly number[] };
  readonly answers: ReadonlyMap<string, string>;
  readonly wrongReplies: number;
  readonly failures: AgentsFound['failures'];
  /** Processors that the gateway took, on average over the counted time; null: it cannot be told. */
  readonly gatewayCpus: number | null;
}

/** Engines and an arm that wait for the agents. */
export interface OpenWindow extends Closable {
  readonly arm: Arm;
  /** Once. */
  watch(): Promise<WindowFound>;
}

/** @throws SetupFault when engines or the arm cannot be had; then nothing is left running. */
export async function openWindow(
  arm: Arm,
  seed: number,
  plan: WindowPlan,
  site: WindowSite,
): Promise<OpenWindow> {
  const workDir = join(site.workDir, `${arm.name}-${seed}`);
  await mkdir(workDir, { recursive: true });
  const place = { ...site, workDir };
  const { scenario } = plan;
  const running: Closable[] = [];
  const close = async (): Promise<void> => await closeInReverse(running);
  try {
    const engines =
      plan.engine === 'simulated'
        ? await startSimulatedEngines(scenario, seed, arm.dialect, place)
        : await startLlamaEngines(place, plan.engine === 'llamacpp-kept');
    running.push(engines);
    const gateway = await arm.start(engines, scenario, place);
    running.push(gateway);
    const pids = gateway.processes.map(({ pid }) => pid);
    return {
      arm,
      watch: async () => ({
        arm: arm.name,
        seed,
        version: gateway.version,
        ...(await watch(arm, seed, plan, gateway.url, engines, pids)),
      }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function watch(
  arm: Arm,
  seed: number,
  { scenario, dialogue }: WindowPlan,
  baseUrl: string,
  engines: RunningEngines,
  pids: readonly number[],
): Promise<Omit<WindowFound, 'arm' | 'seed' | 'version'>> {
  const { warmUpMs, windowMs, loads } = scenario;
  const endMs = warmUpMs + windowMs;
  const crew = startAgents({
    baseUrl,
    model: engines.model,
    loads,
    seed,
    dialogue,
    arrivalsUntilMs: endMs,
    ...arm.agents,
  });
  let found: AgentsFound;
  let preemptions = 0;
  let cpuMs: number | null = null;
  try {
    await crew.until(warmUpMs);
    const before = { preemptions: await engines.preemptions(), cpuMs: cpuOf(pids) };
    await crew.until(endMs);
    const after = { preemptions: await engines.preemptions(), cpuMs: cpuOf(pids) };
    preemptions = (after.preemptions ?? 0) - (before.preemptions ?? 0);
    cpuMs = after.cpuMs === null || before.cpuMs === null ? null : after.cpuMs - before.cpuMs;
  } finally {
    found = await crew.stop();
  }
  const recording: Recording = { ...upTo(found, endMs), startMs: warmUpMs, endMs, preemptions };
  const ended = (serviceClass: string): number[] =>
    recording.runs.flatMap((run) =>
      run.class === serviceClass && run.endedAtMs !== null && !run.failed ? [Math.round(run.endedAtMs)] : [],
    );
  return {
    metrics: measure(recording),
    endedAtMs: { interactive: ended('interactive'), batch: ended('batch') },
    answers: found.answers,
    wrongReplies: found.wrongReplies,
    failures: found.failures,
    gatewayCpus: cpuMs === null ? null : cpuMs / windowMs,
  };
}

/** What had happened by then: the end of the window was waited for, not met to the millisecond. */
function upTo({ runs, turns }: AgentsFound, endMs: number): Pick<Recording, 'runs' | 'turns'> {
  const by = (atMs: number | null): number | null => (atMs === null || atMs > endMs ? null : atMs);
  return {
    runs: runs
      .filter((run) => run.startedAtMs <= endMs)
      .map((run) => ({ ...run, endedAtMs: by(run.endedAtMs) })),
    turns: turns
      .filter((turn) => turn.arrivedAtMs <= endMs)
      .map((turn) => ({
        ...turn,
        admittedAtMs: by(turn.admittedAtMs),
        firstByteAtMs: by(turn.firstByteAtMs),
        finishedAtMs: by(turn.finishedAtMs),
      })),
  };
}

function cpuOf(pids: readonly number[]): number | null {
  const all = pids.map(processCpuMs);
  return all.reduce<number | null>((sum, ms) => (sum === null || ms === null ? null : sum + ms), 0);
}
