/**
 * Agents with their own loop over plain HTTP against any OpenAI-compatible base URL, in real time. Their work
 * comes from the plans of bench/sim/workload.ts, so that equal seeds mean equal work in every arm and in the
 * virtual time of `npm run sim`.
 *
 *     const agents = startAgents({
 *       baseUrl: proxy.url,              // without /v1; a router, an engine, or fermata's proxy
 *       model: 'sim-small',
 *       loads: flood.loads,              // closed loops, poisson arrivals or bursts, see bench/sim/scenarios.ts
 *       seed: 1_001,
 *       dialogue: 'scripted',            // 'plain' for real models
 *       named: true,                     // fermata's three run headers; false: none, as for rivals
 *     });
 *     await agents.until(warmUpMs + windowMs);   // ms after the start
 *     const found = await agents.stop();         // cuts off whatever is under way
 *     measure({ ...found, startMs: warmUpMs, endMs: warmUpMs + windowMs, preemptions: 0 });
 *
 * `found.answers` (run id → digest of all it was told) is compared between arms with `differences`;
 * `found.wrongReplies` counts replies of simulated engines that were not the scripted ones: anything but 0
 * means that the arms did not do the same work. One run alone: `runAgent` of run-agent.ts, with a plan from
 * `planRun`. Nothing is printed.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { createGenerator, hashText } from '../../testkit/sim-engine/core/random.ts';
import type { RunRecord, TurnRecord } from '../sim/recorder.ts';
import { arrivalTimes, draw, planRun, type Load, type RunPlan, type RunShape } from '../sim/workload.ts';
import { agentTimeoutMs } from './ask.ts';
import type { DialogueKind } from './dialogue.ts';
import { runAgent, type AgentClock, type AgentTarget } from './run-agent.ts';

export interface AgentsOptions {
  readonly baseUrl: string;
  readonly model: string;
  readonly loads: readonly Load[];
  readonly seed: number;
  readonly dialogue: DialogueKind;
  readonly named: boolean;
  readonly runPrefix?: string;
  readonly runFields?: NonNullable<AgentTarget['runFields']>;
  /** Until when runs arrive by themselves (poisson, bursts), in ms after the start; closed loops need none. */
  readonly arrivalsUntilMs?: number;
}

export interface AgentsFound {
  /** All runs and turns, also those that were under way at the end; times in ms after the start. */
  readonly runs: RunRecord[];
  readonly turns: TurnRecord[];
  /** Of runs that have ended with an answer. */
  readonly answers: ReadonlyMap<string, string>;
  readonly wrongReplies: number;
  readonly failures: { readonly count: number; readonly reasons: readonly string[] };
}

export interface RunningAgents {
  /** Resolves when so many ms have passed since the start. */
  until(atMs: number): Promise<void>;
  nowMs(): number;
  /** Resolves when every run that arrives by itself has ended; never with a closed loop, which has no end. */
  ended(): Promise<void>;
  /** Aborts what is under way and resolves when nothing is. */
  stop(): Promise<AgentsFound>;
}

/** As in the simulation: agents do not all begin at once, and wait after a run that failed. */
const staggerMs = 5_000;
const retryMs = 1_000;
const keptReasons = 5;

export function startAgents(options: AgentsOptions): RunningAgents {
  const crew = new Crew(options);
  const done = crew.start();
  const until = async (atMs: number): Promise<void> => await sleep(Math.max(0, atMs - crew.nowMs));
  // Whoever waits hears of a fault of the bench at once, and `stop` in any case.
  done.catch(() => undefined);
  return {
    nowMs: () => crew.nowMs,
    ended: async () => await done,
    until: async (atMs) => await Promise.race([until(atMs), done.then(async () => await until(atMs))]),
    stop: async () => {
      await crew.stop(done);
      return crew.found;
    },
  };
}

class Crew {
  readonly #options: AgentsOptions;
  readonly #dispatcher: Agent;
  readonly #target: AgentTarget;
  readonly #stopping = new AbortController();
  readonly #clock: AgentClock;
  readonly #runs: RunRecord[] = [];
  readonly #turns: TurnRecord[] = [];
  readonly #answers = new Map<string, string>();
  readonly #reasons = new Set<string>();
  #wrongReplies = 0;
  #failed = 0;

  constructor(options: AgentsOptions) {
    this.#options = options;
    this.#dispatcher = new Agent({
      connect: { timeout: 10_000 },
      headersTimeout: agentTimeoutMs,
      bodyTimeout: agentTimeoutMs,
      pipelining: 0,
    });
    this.#target = {
      dispatcher: this.#dispatcher,
      baseUrl: options.baseUrl,
      model: options.model,
      dialogue: options.dialogue,
      named: options.named,
      runPrefix: options.runPrefix ?? '',
      ...(options.runFields === undefined ? {} : { runFields: options.runFields }),
    };
    // Each agent that asks or waits hears of the end.
    setMaxListeners(0, this.#stopping.signal);
    this.#clock = { startedAtMs: performance.now(), signal: this.#stopping.signal };
  }

  get nowMs(): number {
    return performance.now() - this.#clock.startedAtMs;
  }

  get found(): AgentsFound {
    return {
      runs: this.#runs,
      turns: this.#turns,
      answers: this.#answers,
      wrongReplies: this.#wrongReplies,
      failures: { count: this.#failed, reasons: [...this.#reasons] },
    };
  }

  /** Resolves when it was stopped, or every run that arrives by itself has ended. */
  async start(): Promise<void> {
    await Promise.all(this.#options.loads.map(async (load, index) => await this.#begin(load, index)));
  }

  async stop(done: Promise<void>): Promise<void> {
    this.#stopping.abort();
    try {
      await done;
    } catch (error) {
      if (!isAbort(error)) throw error;
    } finally {
      await this.#dispatcher.destroy();
    }
  }

  async #begin(load: Load, index: number): Promise<void> {
    const { seed, arrivalsUntilMs = 0 } = this.#options;
    const generator = createGenerator(hashText(`load ${index}`, seed));
    if (load.kind === 'closed') {
      const startsMs = Array.from({ length: load.agents }, () =>
        draw(generator, { lowest: 0, highest: staggerMs }),
      );
      await Promise.all(
        startsMs.map(async (startMs, agent) => await this.#loop(load.shape, index, agent, startMs)),
      );
      return;
    }
    const times = arrivalTimes(load, arrivalsUntilMs, generator);
    await Promise.all(
      times.map(async (atMs, number) => {
        await this.#pause(atMs - this.nowMs);
        await this.#one(planRun(seed, index, 0, number, load.shape));
      }),
    );
  }

  /** A closed loop: when a run has ended, its agent begins another at once. */
  async #loop(shape: RunShape, load: number, agent: number, startMs: number): Promise<void> {
    await this.#pause(startMs - this.nowMs);
    for (let number = 0; ; number += 1) {
      const failed = await this.#one(planRun(this.#options.seed, load, agent, number, shape));
      if (failed) await this.#pause(retryMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(Math.max(0, ms), undefined, { signal: this.#stopping.signal });
  }

  /** @returns whether it failed. */
  async #one(plan: RunPlan): Promise<boolean> {
    const records = { runs: this.#runs, turns: this.#turns };
    const { digest, fault, wrongReplies } = await runAgent(plan, this.#target, this.#clock, records);
    this.#wrongReplies += wrongReplies;
    if (digest !== null) this.#answers.set(plan.id, digest);
    if (fault === null) return false;
    this.#failed += 1;
    if (this.#reasons.size < keptReasons) this.#reasons.add(fault);
    return true;
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** Runs that ended in both and were not told the same. */
export function differences(
  one: ReadonlyMap<string, string>,
  other: ReadonlyMap<string, string>,
): { readonly compared: number; readonly different: number } {
  const shared = [...one].filter(([id]) => other.has(id));
  return {
    compared: shared.length,
    different: shared.filter(([id, digest]) => other.get(id) !== digest).length,
  };
}
