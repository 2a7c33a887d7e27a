/**
 * The loop: agents, one arm and simulated engines in virtual time. A discrete-event simulation without clock
 * or chance of its own: the same scenario, arm and seed give the same recording. What is said between agents,
 * arm and engines takes no time.
 */
import { advance, nextEventAtMs } from '../../testkit/sim-engine/core/advance.ts';
import {
  createEngine,
  loadOf,
  type EngineOutput,
  type EngineState,
} from '../../testkit/sim-engine/core/engine-state.ts';
import { createGenerator, hashText } from '../../testkit/sim-engine/core/random.ts';
import { blockTokens } from '../../testkit/sim-engine/core/tokens.ts';
import { metricsText } from '../../testkit/sim-engine/metrics-text.ts';
import { Agenda } from './agenda.ts';
import type { Admission, Arm, ArmKind, Probe } from './arms/arm.ts';
import type { Recording, RunRecord, TurnRecord } from './recorder.ts';
import type { Scenario } from './scenario.ts';
import { arrivalTimes, draw, planRun, prefixOf, type Load, type RunPlan, type RunShape } from './workload.ts';

interface LiveRun {
  readonly plan: RunPlan;
  readonly record: RunRecord;
  /** The turn that it is in, or will be in after its pause. */
  number: number;
  /** What its agent does afterwards. */
  readonly next: () => void;
}

interface LiveTurn {
  readonly id: string;
  readonly run: LiveRun;
  readonly record: TurnRecord;
}

/** Agents do not all begin at once. */
const staggerMs = 5_000;
/** How long an agent whose run was refused waits before its next. */
const retryMs = 1_000;
const tickMs = 1_000;

/** Times as a fraction of a millisecond away from their neighbours would only blur results: none is rounded. */
export class Simulation {
  readonly engines: readonly EngineState[];
  readonly #scenario: Scenario;
  readonly #seed: number;
  readonly #arm: Arm;
  readonly #agenda = new Agenda();
  readonly #turns = new Map<string, LiveTurn>();
  readonly #turnRecords: TurnRecord[] = [];
  readonly #runRecords: RunRecord[] = [];
  #nowMs = 0;

  constructor(scenario: Scenario, kind: ArmKind, seed: number) {
    this.#scenario = scenario;
    this.#seed = seed;
    this.engines = scenario.replicas.map((config, index) =>
      createEngine({
        jitter: 0.05,
        ...config,
        seed: hashText(`engine ${index}`, seed),
        reportTokens: 'first',
      }),
    );
    this.#arm = kind.create({ replicas: scenario.replicas.length, seed });
    this.#probe();
    this.#tick();
    scenario.loads.forEach((load, index) => this.#begin(load, index));
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Turns that are held or at an engine. */
  get liveTurns(): number {
    return this.#turns.size;
  }

  /** Lets virtual time pass; `afterEach` is called after every event. */
  runUntil(endMs: number, afterEach?: () => void): void {
    for (;;) {
      let atMs = this.#agenda.nextAtMs;
      let engine: number | null = null;
      for (const [index, state] of this.engines.entries()) {
        const stepMs = nextEventAtMs(state) ?? Number.POSITIVE_INFINITY;
        // What an engine does at a time comes before what anyone does because of it.
        if (stepMs > atMs || (stepMs === atMs && engine !== null)) continue;
        atMs = stepMs;
        engine = index;
      }
      if (atMs > endMs) break;
      this.#nowMs = atMs;
      if (engine !== null) this.#advance(engine, { type: 'elapsed', atMs });
      else this.#agenda.takeNext()?.();
      afterEach?.();
    }
    this.#nowMs = endMs;
  }

  /** The whole scenario: warm-up, then the window. */
  run(): Recording {
    const { warmUpMs, windowMs } = this.#scenario;
    this.runUntil(warmUpMs);
    const before = this.#preemptions();
    this.runUntil(warmUpMs + windowMs);
    return {
      turns: this.#turnRecords,
      runs: this.#runRecords,
      startMs: warmUpMs,
      endMs: warmUpMs + windowMs,
      preemptions: this.#preemptions() - before,
    };
  }

  #preemptions(): number {
    return this.engines.reduce((sum, engine) => sum + engine.counters.preemptions, 0);
  }

  #later(atMs: number, act: () => void): void {
    this.#agenda.add(atMs, act);
  }

  #begin(load: Load, index: number): void {
    const generator = createGenerator(hashText(`load ${index}`, this.#seed));
    if (load.kind === 'closed') {
      for (let agent = 0; agent < load.agents; agent += 1) {
        const startMs = draw(generator, { lowest: 0, highest: staggerMs });
        this.#later(startMs, () => this.#startNext(load.shape, index, agent, 0));
      }
      return;
    }
    const endMs = this.#scenario.warmUpMs + this.#scenario.windowMs;
    arrivalTimes(load, endMs, generator).forEach((atMs, number) => {
      this.#later(atMs, () => this.#startRun(planRun(this.#seed, index, 0, number, load.shape), () => {}));
    });
  }

  /** A closed loop: when a run has ended, its agent begins another at once. */
  #startNext(shape: RunShape, load: number, agent: number, number: number): void {
    this.#startRun(planRun(this.#seed, load, agent, number, shape), () =>
      this.#startNext(shape, load, agent, number + 1),
    );
  }

  #startRun(plan: RunPlan, next: () => void): void {
    const record: RunRecord = {
      class: plan.class,
      caller: plan.caller,
      startedAtMs: this.#nowMs,
      endedAtMs: null,
      failed: false,
    };
    this.#runRecords.push(record);
    this.#sendTurn({ plan, record, number: 0, next });
  }

  #sendTurn(run: LiveRun): void {
    const { plan, number } = run;
    const turn = plan.turns[number];
    if (turn === undefined) throw new Error(`run ${plan.id} has no turn ${number}`);
    const record: TurnRecord = {
      class: plan.class,
      caller: plan.caller,
      number,
      arrivedAtMs: this.#nowMs,
      admittedAtMs: null,
      firstByteAtMs: null,
      finishedAtMs: null,
      promptTokens: turn.promptTokens,
      outputTokens: turn.outputTokens,
      cachedTokens: 0,
      replica: null,
    };
    const id = `${plan.id}.${number}`;
    this.#turnRecords.push(record);
    this.#turns.set(id, { id, run, record });
    const spec = {
      id,
      run: plan.id,
      class: plan.class,
      caller: plan.caller,
      number,
      promptTokens: Math.round(turn.promptTokens * plan.estimateRatio),
      prefix: prefixOf(plan, turn.promptTokens),
    };
    this.#admit(this.#arm.arrived(spec, this.#nowMs));
  }

  #admit(admissions: readonly Admission[]): void {
    for (const { turn: id, replica } of admissions) {
      const turn = this.#turns.get(id);
      if (turn === undefined || turn.record.admittedAtMs !== null) throw new Error(`${id} was not held`);
      turn.record.admittedAtMs = this.#nowMs;
      turn.record.replica = replica;
      const { promptTokens, outputTokens } = turn.record;
      const { blockHashes } = turn.run.plan;
      this.#advance(replica, {
        type: 'submit',
        atMs: this.#nowMs,
        request: { id, promptTokens, outputTokens, blockHashes },
      });
    }
  }

  #advance(replica: number, event: Parameters<typeof advance>[1]): void {
    const engine = this.engines[replica];
    if (engine === undefined) throw new Error(`there is no replica ${replica}`);
    for (const output of advance(engine, event)) this.#hear(output);
  }

  #hear(output: EngineOutput): void {
    const turn = this.#turns.get(output.id);
    if (turn === undefined) throw new Error(`an engine speaks of ${output.id}, which nobody sent`);
    switch (output.type) {
      case 'token':
        turn.record.firstByteAtMs = output.atMs;
        this.#admit(this.#arm.started(turn.id, output.atMs));
        return;
      case 'finished':
        this.#finish(turn, output.cachedTokens);
        return;
      case 'refused':
        this.#refuse(turn);
        return;
      case 'started':
      case 'preempted':
      case 'aborted':
        return;
      default:
        output satisfies never;
    }
  }

  #finish(turn: LiveTurn, cachedTokens: number): void {
    const { run, record } = turn;
    const tool = run.plan.turns[run.number]?.tool ?? null;
    record.finishedAtMs = this.#nowMs;
    record.cachedTokens = cachedTokens;
    this.#turns.delete(turn.id);
    if (tool !== null) {
      run.number += 1;
      this.#later(this.#nowMs + tool.durationMs, () => this.#sendTurn(run));
    } else this.#later(this.#nowMs, () => this.#endRun(run));
    this.#admit(
      this.#arm.finished(
        turn.id,
        {
          outcome: tool === null ? 'done' : 'paused',
          promptTokens: record.promptTokens,
          outputTokens: record.outputTokens,
          cachedTokens,
          toolName: tool?.name ?? null,
        },
        this.#nowMs,
      ),
    );
  }

  #refuse(turn: LiveTurn): void {
    const { run, record } = turn;
    this.#turns.delete(turn.id);
    run.record.failed = true;
    this.#later(this.#nowMs, () => this.#endRun(run));
    const { promptTokens } = record;
    this.#admit(
      this.#arm.finished(
        turn.id,
        { outcome: 'refused', promptTokens, outputTokens: 0, cachedTokens: 0, toolName: null },
        this.#nowMs,
      ),
    );
  }

  #endRun(run: LiveRun): void {
    run.record.endedAtMs = this.#nowMs;
    this.#admit(this.#arm.runEnded(run.plan.id, this.#nowMs));
    if (run.record.failed) this.#later(this.#nowMs + retryMs, run.next);
    else run.next();
  }

  #probe(): void {
    const probes = this.engines.map((engine, replica): Probe => {
      const { running, waiting, usedBlocks, totalBlocks } = loadOf(engine);
      return {
        replica,
        running,
        waiting,
        cacheUsage: usedBlocks / totalBlocks,
        capacityTokens: totalBlocks * blockTokens,
        metrics: () => metricsText('vllm', engine, 'm'),
      };
    });
    this.#admit(this.#arm.probed(probes, this.#nowMs));
    this.#later(this.#nowMs + this.#arm.probeIntervalMs, () => this.#probe());
  }

  #tick(): void {
    this.#admit(this.#arm.ticked(this.#nowMs));
    this.#later(this.#nowMs + tickMs, () => this.#tick());
  }
}
