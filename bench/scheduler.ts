/**
 * `npm run bench -- scheduler [--quick]`: what a decision of the scheduler's core costs with 100, 10,000 and
 * 100,000 turns held, and how that grows. The core runs alone in this process, with the default policy and
 * with `fairness: tokens`, fed with what proxies, probes and the clock say of runs that begin, pause and end.
 */
import { policySchema, replicaConfigSchema } from '../contracts/config-file.ts';
import type { Caller, ProxyId, RunId, TurnId } from '../contracts/ids.ts';
import type { SchedulerEvent } from '../scheduler/core/events.ts';
import { createState, type SchedulerState, type Turn } from '../scheduler/core/state.ts';
import { step } from '../scheduler/core/step.ts';
import { bar, publish, type Bar } from './bars.ts';

const heldSizes = [100, 10_000, 100_000] as const;
const fairness = ['inflight', 'tokens'] as const;
const replicas = 8;
const callers = 200;
const sharedPrompts = 20;
const turnsPerRun = 4;
const proxy = 'proxy' as ProxyId;
const model = 'm';
/** A replica holds some 60 contexts of 2,000 tokens. */
const capacityTokens = 131_072;

export interface Measured {
  readonly held: number;
  readonly events: number;
  readonly eventsPerSecond: number;
  readonly meanMicros: number;
  readonly p99Micros: number;
  readonly maxMs: number;
  readonly heapMb: number;
}

/** One core with a constant number of turns held; each `cycle` is a turn's end and what follows from it. */
export class Load {
  readonly state: SchedulerState;
  readonly #inFlight: TurnId[] = [];
  readonly #samples: number[] = [];
  #nowMs = 0;
  #next = 0;
  #tickedAtMs = 0;
  #measuring = false;

  constructor(held: number, kind: (typeof fairness)[number]) {
    this.state = createState(policySchema.parse({ fairness: kind, maxHeld: held + 1_000 }), {});
    this.#send({
      type: 'poolChanged',
      atMs: 0,
      replicas: Array.from({ length: replicas }, (_, index) =>
        replicaConfigSchema.parse({
          id: `r${index}`,
          url: `http://r${index}`,
          engine: 'vllm',
          models: [model],
        }),
      ),
    });
    this.#send({ type: 'proxyResynced', atMs: 0, proxy, runs: [], held: [], inFlight: [] });
    this.#probe();
    while (this.state.heldTurns < held) {
      // One run in ten begins with two turns at once, since a core keeps no more than 100,000 runs.
      const before = this.#next - 1;
      const { heldTurns } = this.state;
      this.#arrive(this.#next % 10 === 9 ? `run${before}` : `run${this.#next}`, 1);
      if (this.#next > 2 * held + 10_000) throw new Error(`only ${heldTurns} of ${held} turns are held`);
    }
  }

  /** Time of each event of `count` events, in microseconds, unsorted. */
  measure(count: number): readonly number[] {
    this.#measuring = true;
    this.#samples.length = 0;
    while (this.#samples.length < count) this.#cycle();
    this.#measuring = false;
    return this.#samples;
  }

  #cycle(): void {
    const turn = this.#inFlight.shift();
    if (turn === undefined) throw new Error('nothing is in flight: the load has run dry');
    this.#nowMs += 1;
    const live = this.state.turns.get(turn);
    if (live === undefined) throw new Error(`${turn} is not known`);
    this.#send({ type: 'turnStarted', atMs: this.#nowMs, proxy, turn });
    const paused = (live.run?.turns ?? 0) < turnsPerRun;
    this.#finish(live, paused);
    const { run } = live.spec;
    if (paused) this.#arrive(run, (live.run?.turns ?? 0) + 1);
    else {
      this.#send({ type: 'runEnded', atMs: this.#nowMs, proxy, run });
      this.#arrive(`run${this.#next}`, 1);
    }
    if (this.#nowMs - this.#tickedAtMs >= 1_000) {
      this.#tickedAtMs = this.#nowMs;
      this.#send({ type: 'ticked', atMs: this.#nowMs });
      this.#probe();
    }
  }

  #finish(live: Turn, paused: boolean): void {
    const { promptTokens, turn } = live.spec;
    this.#send({
      type: 'turnFinished',
      atMs: this.#nowMs,
      proxy,
      turn,
      outcome: paused ? 'paused' : 'done',
      usage: { promptTokens, completionTokens: 60 },
      cachedTokens: live.leftTokens ?? 0,
      ...(paused ? { toolNames: ['lookup'] } : {}),
    });
  }

  #arrive(run: string, number: number): void {
    const index = this.#next++;
    const seed = Number(run.slice(3));
    const promptTokens = 1_400 + (seed % 7) * 100 + number * 140;
    this.#send({
      type: 'turnArrived',
      atMs: this.#nowMs,
      proxy,
      heldForMs: 0,
      spec: {
        turn: `t${index}` as TurnId,
        run: run as RunId,
        class: seed % 5 === 0 ? 'interactive' : 'batch',
        caller: `caller${seed % callers}` as Caller,
        model,
        api: 'chat',
        promptTokens,
        maxTokens: 256,
        prefix: Array.from({ length: Math.floor(promptTokens / 256) }, (_, block) =>
          block < 2 ? `shared${seed % sharedPrompts}.${block}` : `${run}.${block}`,
        ),
      },
    });
  }

  #probe(): void {
    for (const replica of this.state.replicas.keys()) {
      const load = { running: 0, waiting: 0, cacheUsage: 0.5, capacityTokens, capacityContexts: null };
      this.#send({ type: 'replicaProbed', atMs: this.#nowMs, replica, healthy: true, load });
    }
  }

  #send(event: SchedulerEvent): void {
    const startedMs = performance.now();
    const effects = step(this.state, event);
    if (this.#measuring) this.#samples.push((performance.now() - startedMs) * 1_000);
    for (const effect of effects) if (effect.type === 'admit') this.#inFlight.push(effect.turn);
  }
}

export function measureHeld(held: number, kind: (typeof fairness)[number], count: number): Measured {
  const load = new Load(held, kind);
  load.measure(Math.min(count, 50_000));
  const samples = [...load.measure(count)];
  const totalMicros = samples.reduce((sum, micros) => sum + micros, 0);
  samples.sort((a, b) => a - b);
  return {
    held,
    events: samples.length,
    eventsPerSecond: (samples.length / totalMicros) * 1_000_000,
    meanMicros: totalMicros / samples.length,
    p99Micros: samples[Math.floor(samples.length * 0.99)] ?? Number.NaN,
    maxMs: (samples.at(-1) ?? Number.NaN) / 1_000,
    heapMb: process.memoryUsage().heapUsed / 1_048_576,
  };
}

/** Least squares of y = base + slope · x. */
export function fitLine(points: readonly { readonly x: number; readonly y: number }[]): {
  readonly base: number;
  readonly slope: number;
} {
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const covariance = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  const variance = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  const slope = variance === 0 ? 0 : covariance / variance;
  return { base: meanY - slope * meanX, slope };
}

function row({ held, eventsPerSecond, meanMicros, p99Micros, maxMs, heapMb }: Measured): string {
  const cells = [
    held,
    Math.round(eventsPerSecond),
    meanMicros.toFixed(1),
    p99Micros.toFixed(1),
    maxMs.toFixed(2),
  ];
  return [...cells, Math.round(heapMb)].map((cell) => String(cell).padStart(12)).join('');
}

/** @returns the exit code */
export async function runSchedulerBench(quick: boolean): Promise<0 | 1> {
  const count = quick ? 100_000 : 500_000;
  const bars: Bar[] = [];
  const details: Record<string, unknown> = { replicas, callers, events: count };
  for (const kind of fairness) {
    console.log(`fairness: ${kind}`);
    console.log(
      ['held', 'events/s', 'mean µs', 'p99 µs', 'max ms', 'heap MiB']
        .map((name) => name.padStart(12))
        .join(''),
    );
    const results = heldSizes.map((held) => {
      const result = measureHeld(held, kind, count);
      console.log(row(result));
      return result;
    });
    const growth = fitLine(results.map(({ held, meanMicros }) => ({ x: Math.log2(held), y: meanMicros })));
    const power = fitLine(
      results.map(({ held, meanMicros }) => ({ x: Math.log(held), y: Math.log(meanMicros) })),
    );
    console.log(
      `fit: ${growth.base.toFixed(2)} µs + ${growth.slope.toFixed(3)} µs · log2(held); as a power: held^${power.slope.toFixed(3)}\n`,
    );
    bars.push(
      bar(
        `scheduler ${kind} events per second at 100000 held`,
        results.at(-1)?.eventsPerSecond ?? null,
        '>=',
        50_000,
      ),
      // 100 times as many cost at most 2.5 times as much as log2 does at most: far below a root.
      bar(`scheduler ${kind} growth exponent`, power.slope, '<=', 0.15),
    );
    details[kind] = { results, growth, power };
  }
  return await publish('scheduler', bars, { details });
}
