/**
 * Engines of one window: new ones for each, so that no arm finds what another has left in their caches. Either
 * simulated ones in real time, each in a process of its own, or real llama.cpp with SmolLM2-135M.
 */
import { z } from 'zod';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { ensureLlamaCppPython } from '../../cli/setup/llamacpp-python.ts';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import { startLlamaCpp } from '../../testkit/llamacpp/launch.ts';
import { hashText } from '../../testkit/sim-engine/core/random.ts';
import type { Dialect } from '../../testkit/sim-engine/metrics-text.ts';
import { startSimulatedPool, type ProcessPlace } from '../site/simulated-pool.ts';
import type { Scenario } from '../sim/scenario.ts';

export interface EnginePlace extends ProcessPlace {
  readonly toolsDir: string;
  readonly progress: Progress;
}

export interface RunningEngines extends Closable {
  readonly urls: readonly string[];
  readonly model: string;
  /** As fermata's configuration calls them. */
  readonly engine: 'vllm' | 'sglang' | 'llamacpp';
  readonly pids: readonly number[];
  /** Requests that had to give their memory back until now, over all engines; null: engines do not tell. */
  preemptions(): Promise<number | null>;
}

const model = 'sim-small';

/** As the simulation has them, seeds and jitter included. @throws SetupFault when one does not come up. */
export async function startSimulatedEngines(
  { replicas }: Scenario,
  seed: number,
  dialect: Exclude<Dialect, 'llamacpp'>,
  place: ProcessPlace,
): Promise<RunningEngines> {
  const running: Closable[] = [];
  const close = async (): Promise<void> => await closeInReverse(running);
  try {
    const urls: string[] = [];
    const pids: number[] = [];
    for (const [index, config] of replicas.entries()) {
      const id = `sim-${index}`;
      const engine = { jitter: 0.05, ...config, seed: hashText(`engine ${index}`, seed) };
      const pool = await startSimulatedPool(
        `engine-${index}`,
        { engines: [{ id, model, dialect, engine }], toolServer: null },
        place,
      );
      running.push(pool);
      pids.push(pool.pid);
      urls.push(...pool.engines.map(({ url }) => url));
    }
    return {
      urls,
      model,
      engine: dialect,
      pids,
      close,
      preemptions: async () => await sumOfPreemptions(urls),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const stateSchema = z.looseObject({ counters: z.looseObject({ preemptions: z.number() }) });

async function sumOfPreemptions(urls: readonly string[]): Promise<number> {
  let sum = 0;
  for (const url of urls) {
    const response = await fetch(`${url}/sim/state`, { signal: AbortSignal.timeout(5_000) });
    sum += stateSchema.parse(await response.json()).counters.preemptions;
  }
  return sum;
}

/**
 * Two real engines of 4 slots, one thread each.
 * @param keepContexts whether those that lost their slot are kept in main memory. @throws SetupFault when the wheels cannot be had.
 */
export async function startLlamaEngines(place: EnginePlace, keepContexts: boolean): Promise<RunningEngines> {
  const python = await ensureLlamaCppPython(place.toolsDir, place.progress);
  const running: Closable[] = [];
  const close = async (): Promise<void> => await closeInReverse(running);
  try {
    const engines = [];
    for (const index of [0, 1]) {
      const engine = await startLlamaCpp({
        python,
        logPath: `${place.workDir}/llamacpp-${index}.log`,
        ...(keepContexts ? {} : { keptMib: 0 }),
      });
      running.push(engine);
      engines.push(engine);
    }
    return {
      urls: engines.map(({ url }) => url),
      model: engines[0]?.model ?? '',
      engine: 'llamacpp',
      pids: engines.map(({ pid }) => pid),
      close,
      preemptions: async () => null,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
