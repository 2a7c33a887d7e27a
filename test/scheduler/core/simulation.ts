/**
 * A world around the core, in virtual time from one seed: proxies with clients that run agent loops over
 * links that delay, break and repeat, engines that fail and lie, a pool that changes, a clock that jumps.
 * The world keeps its own books of what each proxy holds and has in flight, and checks every effect and
 * the core's invariants against them after each step.
 */
import { fits, isMeasurable } from '../../../scheduler/core/capacity.ts';
import { Heap, type HeapEntry } from '../../../scheduler/core/heap.ts';
import type { Effect, SchedulerEvent } from '../../../scheduler/core/events.ts';
import { createState, type SchedulerState } from '../../../scheduler/core/state.ts';
import { serves } from '../../../scheduler/core/routes.ts';
import { step } from '../../../scheduler/core/step.ts';
import {
  keepsRunState,
  type Api,
  type Callers,
  type Policy,
  type ReplicaConfig,
} from '../../../contracts/config-file.ts';
import type { ProxyId, ReplicaId, TurnId } from '../../../contracts/ids.ts';
import type { ResyncRun, TurnOutcome, TurnSpec } from '../../../contracts/link-protocol.ts';
import { brokenInvariants } from './invariants.ts';
import { defaultPolicy, replica, spec } from './scenario.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly proxies?: number;
  readonly agents?: number;
  readonly policy?: Partial<Policy>;
  /** Absent: after every step. */
  readonly checkEvery?: number;
}

export interface SimulationResult {
  /** Every event, as it was applied, for a replay. */
  readonly log: readonly SchedulerEvent[];
  readonly effects: readonly (readonly Effect[])[];
  readonly state: SchedulerState;
  readonly turnsServed: number;
  readonly longestHoldMs: number;
  readonly faults: Readonly<Record<string, number>>;
}

interface SimTurn {
  readonly spec: TurnSpec;
  readonly agent: number;
  readonly sinceMs: number;
  replica: ReplicaId | null;
}

interface SimProxy {
  id: ProxyId;
  /** Counts connections; what was sent on an earlier one never arrives. */
  connection: number;
  linked: boolean;
  /** Its process is gone; another one takes its place. */
  dead: boolean;
  readonly turns: Map<TurnId, SimTurn>;
  readonly runs: Map<string, ResyncRun & { readonly atMs: number }>;
}

interface Agent {
  /** Tokens of its conversation so far. */
  contextTokens: number;
  readonly class: 'interactive' | 'batch';
  readonly caller: string;
  readonly model: string;
  run: string;
  turns: number;
  proxy: number;
}

interface Scheduled {
  readonly atMs: number;
  readonly order: number;
  readonly act: () => void;
}

const pool: readonly ReplicaConfig[] = [
  replica('a', { models: ['m', 'n'], maxConcurrent: 3 }),
  replica('b', { models: ['m'] }),
  replica('c', { models: undefined, maxConcurrent: 4 }),
  replica('slow', { models: ['m'], engine: 'ollama', limit: 'latency' }),
  replica('judge', { kind: 'one-shot', models: ['guard'], maxConcurrent: 1 }),
  // Says what it serves when it is asked: embeddings alone of its own model, and those of m beside b's chat.
  replica('vectors', { models: ['e', 'm'], maxConcurrent: 2 }),
];

/** mulberry32: a number in [0, 1) a call. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const simulatedCallers: Callers = { alice: { weight: 1 }, bob: { weight: 2 } };

/** Which rules a seed is simulated with; every four seeds have them all. */
export function simulatedPolicy(seed: number, fields: Partial<Policy> = {}): Policy {
  return defaultPolicy({
    maxBatchHoldMs: 60_000,
    admission: seed % 4 === 0 ? 'engine-load' : 'residency',
    fairness: seed % 2 === 0 ? 'inflight' : 'tokens',
    ...fields,
  });
}

/** What an engine has cached of a conversation that goes on; one whose memory is short loses it now and then. */
const contextLossShare = 0.15;
const capacityTokens = 6_000;
const slots = 3;

export class Simulation {
  readonly #random: () => number;
  readonly #state: SchedulerState;
  readonly #log: SchedulerEvent[] = [];
  readonly #effects: (readonly Effect[])[] = [];
  readonly #agenda = new Heap<Scheduled>(
    (x, y) => x.atMs < y.atMs || (x.atMs === y.atMs && x.order < y.order),
  );
  readonly #entriesOf = new Map<Scheduled, HeapEntry<Scheduled>>();
  readonly #proxies: SimProxy[] = [];
  readonly #agents: Agent[] = [];
  /** Turns the scheduler has let go and not heard the end of, by what it was told; checks double admission. */
  readonly #admitted = new Map<TurnId, ReplicaId>();
  readonly #faults: Record<string, number> = {};
  readonly #options: SimulationOptions;
  #members: readonly ReplicaConfig[] = pool;
  #nowMs = 0;
  #clockSkewMs = 0;
  #order = 0;
  #turns = 0;
  #served = 0;
  #longestHoldMs = 0;
  #calm = false;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#random = randomFrom(options.seed);
    this.#state = createState(simulatedPolicy(options.seed, options.policy), simulatedCallers);
  }

  /** Runs `steps` events with faults, then mends everything and lets all turns end. */
  run(): SimulationResult {
    const { steps, proxies = 3, agents = 24 } = this.#options;
    this.#apply({ type: 'poolChanged', replicas: pool });
    for (let index = 0; index < proxies; index += 1) this.#startProxy(index);
    for (const { id } of pool) this.#later(this.#upTo(500), () => this.#probe(id));
    for (let index = 0; index < agents; index += 1) this.#startAgent(index);
    this.#later(1_000, () => this.#tick());
    this.#later(2_000, () => this.#fault());
    while (this.#log.length < steps) this.#next();
    this.#mend();
    for (let guard = 0; this.#busy(); guard += 1) {
      if (guard > 200_000) throw new Error(`turns never end: ${JSON.stringify(this.#stuck())}`);
      this.#next();
    }
    return {
      log: this.#log,
      effects: this.#effects,
      state: this.#state,
      turnsServed: this.#served,
      longestHoldMs: this.#longestHoldMs,
      faults: this.#faults,
    };
  }

  /** Lets time alone pass, with nobody doing anything any more. */
  rest(ms: number): void {
    for (let left = ms; left > 0; left -= 60_000) {
      this.#nowMs += Math.min(60_000, left);
      this.#apply({ type: 'ticked' });
    }
  }

  #next(): void {
    const next = this.#agenda.first;
    if (next === undefined) throw new Error('nothing is going to happen any more');
    this.#nowMs = next.atMs;
    this.#removeFirst();
    next.act();
  }

  #later(ms: number, act: () => void): void {
    const scheduled: Scheduled = { atMs: this.#nowMs + ms, order: this.#order++, act };
    this.#entriesOf.set(scheduled, this.#agenda.push(scheduled));
  }

  #removeFirst(): void {
    const first = this.#agenda.first;
    const entry = first === undefined ? undefined : this.#entriesOf.get(first);
    if (first === undefined || entry === undefined) return;
    this.#entriesOf.delete(first);
    this.#agenda.remove(entry);
  }

  #upTo(ms: number): number {
    return Math.floor(this.#random() * ms);
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #pick<T>(values: readonly T[]): T {
    const value = values[Math.floor(this.#random() * values.length)];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  }

  #count(fault: string): void {
    this.#faults[fault] = (this.#faults[fault] ?? 0) + 1;
  }

  // The scheduler

  #apply(event: Record<string, unknown> & { readonly type: SchedulerEvent['type'] }): void {
    const full = { ...event, atMs: this.#nowMs + this.#clockSkewMs } as unknown as SchedulerEvent;
    this.#log.push(full);
    const residentBefore = residentWaiters(this.#state, full);
    const effects = step(this.#state, full);
    this.#effects.push(effects);
    const admissions = effects.flatMap((effect) => (effect.type === 'admit' ? [effect] : []));
    const [admission] = admissions;
    // A resync makes runs resident in the same step, and a second admission moves the sum on.
    if (admission !== undefined && admissions.length === 1 && event.type !== 'proxyResynced') {
      this.#checkRoom(admission, residentBefore);
    }
    for (const effect of effects) if (effect.type !== 'recorded') this.#deliver(effect);
    this.#checkHolds(effects);
    if (this.#log.length % (this.#options.checkEvery ?? 1) > 0) return;
    const broken = brokenInvariants(this.#state);
    if (broken.length > 0) throw new Error(`${broken.join('; ')} after ${JSON.stringify(full)}`);
  }

  #deliver(effect: Exclude<Effect, { type: 'recorded' }>): void {
    const proxy = this.#proxies.find(({ id }) => id === effect.proxy);
    if (effect.type === 'admit') this.#checkAdmission(effect);
    if (proxy === undefined || !proxy.linked) {
      if (effect.type === 'abort') return;
      throw new Error(
        `${effect.type} of ${effect.turn} goes to a proxy that is not linked, after ${JSON.stringify(this.#log.at(-1))}`,
      );
    }
    const { connection } = proxy;
    this.#later(this.#upTo(20), () => {
      if (proxy.connection === connection && proxy.linked) this.#received(proxy, effect);
    });
  }

  /** A run that was not resident there was let in only where its context fits, or as the only one. */
  #checkRoom(effect: Extract<Effect, { type: 'admit' }>, residentBefore: ReadonlySet<string>): void {
    const turn = this.#state.turns.get(effect.turn);
    const target = turn?.replica;
    if (turn === undefined || target === null || target === undefined || turn.run === null) return;
    if (this.#state.policy.admission !== 'residency' || residentBefore.has(`${turn.run.id}@${target.id}`))
      return;
    const { capacity, ledger } = target;
    if (isMeasurable(capacity) && ledger.contexts > 1 && !fits(capacity, ledger.contexts, ledger.tokens)) {
      throw new Error(
        `${effect.turn} takes ${target.id} to ${ledger.tokens} of ${capacity.tokens} tokens, ${ledger.contexts} of ${capacity.contexts} contexts`,
      );
    }
  }

  /** Nobody starves: what is held longer than the bound has had nowhere to go for most of that time. */
  #checkHolds(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type !== 'recorded' || effect.record.metric !== 'admitted') continue;
      this.#longestHoldMs = Math.max(this.#longestHoldMs, effect.record.holdMs);
    }
  }

  #checkAdmission(effect: Extract<Effect, { type: 'admit' }>): void {
    const turn = this.#state.turns.get(effect.turn);
    const target = this.#state.replicas.get(effect.replica);
    const already = this.#admitted.get(effect.turn);
    if (already !== undefined) throw new Error(`${effect.turn} is admitted to ${already} and again`);
    if (turn === undefined || turn.replica !== target || target === undefined) {
      throw new Error(`${effect.turn} was admitted and is not in flight on ${effect.replica}`);
    }
    if (!target.member || target.healthy !== true) throw new Error(`${effect.replica} takes no turns`);
    if (!serves(target, turn.spec.model, turn.spec.api))
      throw new Error(`${effect.replica} has no such model`);
    const most = target.config.maxConcurrent ?? Number.POSITIVE_INFINITY;
    if (target.inFlight > most) {
      throw new Error(`${target.id} has ${target.inFlight} in flight, at most ${most} may`);
    }
    this.#admitted.set(effect.turn, effect.replica);
  }

  #tick(): void {
    this.#apply({ type: 'ticked' });
    this.#forgetDropped();
    this.#later(1_000, () => this.#tick());
  }

  /** Turns that the scheduler has given up may be admitted again when they come back. */
  #forgetDropped(): void {
    for (const turn of this.#admitted.keys()) if (!this.#state.turns.has(turn)) this.#admitted.delete(turn);
  }

  #probe(id: ReplicaId): void {
    const lies = !this.#calm && this.#chance(0.05);
    const healthy = this.#calm || !this.#chance(0.03);
    const inFlight = this.#state.replicas.get(id)?.inFlight ?? 0;
    const load = lies
      ? {
          running: this.#upTo(10),
          waiting: this.#upTo(5),
          cacheUsage: this.#random() * 3,
          capacityTokens: this.#upTo(3) * capacityTokens,
          capacityContexts: this.#upTo(3),
        }
      : {
          running: Math.min(inFlight, 4),
          waiting: Math.max(0, inFlight - 4),
          cacheUsage: this.#chance(0.5) ? null : this.#random(),
          // b says nothing of its memory: its capacity is learned.
          capacityTokens: id === 'b' || this.#chance(0.5) ? null : capacityTokens,
          // c has slots.
          capacityContexts: id === 'c' && this.#chance(0.5) ? slots : null,
        };
    if (lies) this.#count('lying probe');
    if (!healthy) this.#count('unhealthy probe');
    this.#apply({
      type: 'replicaProbed',
      replica: id,
      healthy,
      ...(this.#chance(0.5) && id === 'c' ? { models: ['n', 'm'] } : {}),
      ...this.#toldApis(id, healthy),
      ...(id !== 'slow' && (this.#calm || this.#chance(0.8)) ? { load } : {}),
    });
    this.#later(1_900 + this.#upTo(200), () => this.#probe(id));
  }

  /** Engines are asked when they are healthy; some answers are missing or other than before. */
  #toldApis(id: ReplicaId, healthy: boolean): { apis?: readonly Api[] | null } {
    if (id === 'slow' || id === 'judge') return { apis: null };
    if (!healthy || (!this.#calm && this.#chance(0.5))) return {};
    if (!this.#calm && this.#chance(0.2)) return { apis: null };
    if (id === 'vectors') return { apis: ['embeddings', 'score'] };
    return { apis: this.#calm || this.#chance(0.9) ? ['chat', 'embeddings'] : ['chat'] };
  }

  // Proxies and their links

  #startProxy(index: number): void {
    const proxy: SimProxy = {
      id: `proxy${index}` as ProxyId,
      connection: 0,
      linked: false,
      dead: false,
      turns: new Map(),
      runs: new Map(),
    };
    this.#proxies[index] = proxy;
    this.#later(this.#upTo(100), () => this.#link(proxy));
  }

  #link(proxy: SimProxy): void {
    if (proxy.linked || proxy.dead) return;
    proxy.connection += 1;
    proxy.linked = true;
    const turns = [...proxy.turns.values()];
    for (const turn of turns) if (turn.replica === null) this.#admitted.delete(turn.spec.turn);
    this.#apply({
      type: 'proxyResynced',
      proxy: proxy.id,
      runs: [...proxy.runs.values()]
        .filter(({ run }) => !turns.some((turn) => turn.spec.run === run && turn.replica !== null))
        .map(({ atMs, ...run }) => ({ ...run, idleForMs: this.#nowMs - atMs })),
      held: turns
        .filter((turn) => turn.replica === null)
        .map((turn) => ({ spec: turn.spec, heldForMs: this.#nowMs - turn.sinceMs })),
      inFlight: turns.flatMap((turn) =>
        turn.replica === null
          ? []
          : [
              {
                spec: turn.spec,
                replica: turn.replica,
                started: true,
                admittedForMs: this.#nowMs - turn.sinceMs,
              },
            ],
      ),
    });
    this.#forgetDropped();
    for (const turn of turns) if (turn.replica !== null) this.#admitted.set(turn.spec.turn, turn.replica);
  }

  #unlink(proxy: SimProxy): void {
    if (!proxy.linked) return;
    this.#count('lost proxy');
    proxy.linked = false;
    this.#apply({ type: 'proxyLost', proxy: proxy.id });
    const dies = this.#chance(0.3);
    if (dies) {
      this.#count('dead proxy');
      proxy.dead = true;
      for (const turn of proxy.turns.values())
        this.#later(this.#upTo(3_000), () => this.#agentTurn(turn.agent));
      const index = this.#proxies.indexOf(proxy);
      this.#later(this.#upTo(5_000), () => {
        this.#startProxy(index);
        const born = this.#proxies[index];
        if (born !== undefined) born.id = `${proxy.id}+` as ProxyId;
      });
    } else this.#later(this.#upTo(45_000), () => this.#link(proxy));
  }

  /** Sends over the link; late on purpose now and then, twice now and then, in order on one connection. */
  #say(proxy: SimProxy, event: Record<string, unknown> & { readonly type: SchedulerEvent['type'] }): void {
    if (!proxy.linked) return;
    const full = { ...event, proxy: proxy.id };
    this.#apply(full);
    if (this.#calm || !this.#chance(0.03)) return;
    this.#count('repeated report');
    if (event.type === 'turnArrived') this.#apply(full);
    else this.#later(this.#upTo(3_000), () => proxy.linked && this.#apply(full));
  }

  #received(proxy: SimProxy, effect: Exclude<Effect, { type: 'recorded' }>): void {
    const turn = proxy.turns.get(effect.turn);
    if (effect.type === 'admit') {
      if (turn === undefined) {
        this.#say(proxy, { type: 'turnFinished', turn: effect.turn, outcome: 'failed' });
        this.#forgetDropped();
        return;
      }
      turn.replica = effect.replica;
      this.#serve(proxy, turn);
      return;
    }
    if (turn === undefined) return;
    proxy.turns.delete(effect.turn);
    if (effect.type === 'abort') {
      this.#say(proxy, { type: 'turnFinished', turn: effect.turn, outcome: 'failed' });
      this.#forgetDropped();
    }
    this.#newRun(turn.agent);
    this.#later(this.#upTo(2_000), () => this.#agentTurn(turn.agent));
  }

  /** The engine's part: a first byte, then an end. */
  #serve(proxy: SimProxy, turn: SimTurn): void {
    const { turn: id } = turn.spec;
    const alive = (): boolean => this.#proxies.includes(proxy) && proxy.turns.get(id) === turn;
    const firstByteMs = this.#upTo(300);
    this.#later(firstByteMs, () => alive() && this.#say(proxy, { type: 'turnStarted', turn: id }));
    this.#later(firstByteMs + this.#upTo(2_000), () => alive() && this.#end(proxy, turn));
  }

  #end(proxy: SimProxy, turn: SimTurn): void {
    const outcome: TurnOutcome = this.#calm
      ? 'done'
      : this.#pick(['paused', 'paused', 'paused', 'done', 'failed', 'refused']);
    proxy.turns.delete(turn.spec.turn);
    if (turn.replica !== null && keepsRunState(turn.spec.api)) {
      proxy.runs.set(turn.spec.run, {
        run: turn.spec.run,
        class: turn.spec.class,
        caller: turn.spec.caller,
        replica: turn.replica,
        phase: outcome === 'paused' ? 'paused' : 'idle',
        footprintTokens: 10,
        idleForMs: 0,
        atMs: this.#nowMs,
      });
    }
    this.#admitted.delete(turn.spec.turn);
    this.#say(proxy, {
      type: 'turnFinished',
      turn: turn.spec.turn,
      outcome,
      ...this.#reportOf(turn, outcome),
    });
    this.#served += 1;
    if (this.#calm) return;
    if (outcome === 'done') this.#newRun(turn.agent);
    // Most tools are quick; one in ten takes up to a minute.
    this.#later(this.#upTo(this.#chance(0.1) ? 60_000 : 2_000), () => this.#agentTurn(turn.agent));
  }

  /** Usage and cached tokens as engines give them; now and then one of them, or both, are missing. */
  #reportOf(turn: SimTurn, outcome: TurnOutcome): Record<string, unknown> {
    if (outcome === 'failed' || outcome === 'refused') return {};
    const promptTokens = Math.round(turn.spec.promptTokens * (0.9 + this.#random() * 0.2));
    const completionTokens = 1 + this.#upTo(200);
    const cachedTokens = this.#chance(contextLossShare) ? 0 : Math.floor(promptTokens * 0.95);
    return {
      ...(this.#chance(0.9) ? { usage: { promptTokens, completionTokens } } : {}),
      ...(turn.replica !== 'slow' && this.#chance(0.9) ? { cachedTokens } : {}),
      ...(outcome === 'paused' ? { toolNames: [this.#pick(['lookup', 'lookup', 'deep_search'])] } : {}),
    };
  }

  // Agents

  #startAgent(index: number): void {
    this.#agents.push({
      contextTokens: 200 + this.#upTo(1_500),
      class: index % 3 === 0 ? 'interactive' : 'batch',
      caller: this.#pick(['alice', 'bob', 'carol']),
      model: this.#pick(['m', 'm', 'm', 'n', 'n', 'guard', 'e']),
      run: `run${index}`,
      turns: 0,
      proxy: index,
    });
    this.#later(this.#upTo(3_000), () => this.#agentTurn(index));
  }

  #newRun(index: number): void {
    const agent = this.#agents[index];
    if (agent === undefined) return;
    agent.run = `${agent.run.split('.')[0] ?? ''}.${this.#turns}`;
    agent.contextTokens = 200 + this.#upTo(1_500);
  }

  #agentTurn(index: number): void {
    const agent = this.#agents[index];
    if (agent === undefined || this.#calm) return;
    if (this.#chance(0.2)) agent.proxy = this.#upTo(this.#proxies.length);
    const proxy = this.#proxies[agent.proxy % this.#proxies.length];
    if (proxy === undefined) return;
    agent.turns += 1;
    agent.contextTokens += this.#upTo(300);
    this.#arrive(proxy, index, agent);
    // A side turn of the same run, whose end nobody waits for.
    if (this.#chance(0.1)) this.#arrive(proxy, -1, agent);
  }

  #arrive(proxy: SimProxy, index: number, agent: Agent): void {
    const id = `t${this.#turns++}`;
    const turn: SimTurn = {
      spec: spec(id, {
        run: agent.run,
        class: agent.class,
        caller: agent.caller,
        model: agent.model,
        promptTokens: agent.contextTokens,
        prefix: prefixOf(agent),
        ...this.#askedFor(agent),
        ...(this.#chance(0.5) ? { turnNumber: agent.turns % 4 } : {}),
        ...(this.#chance(0.05) ? { storedOn: this.#members[this.#upTo(4)]?.id ?? null } : {}),
      }),
      agent: index,
      sinceMs: this.#nowMs,
      replica: null,
    };
    proxy.turns.set(turn.spec.turn, turn);
    this.#say(proxy, { type: 'turnArrived', spec: turn.spec, heldForMs: 0 });
    if (this.#chance(0.1)) this.#later(this.#upTo(4_000), () => this.#leave(proxy, turn));
  }

  /** What an agent asks of its model: chat, and now and then something that is of no run. */
  #askedFor({ model }: Agent): { api?: Api } {
    if (model === 'guard') return { api: 'classify' };
    if (model === 'e') return { api: this.#chance(0.7) ? 'embeddings' : 'score' };
    return this.#chance(0.1) ? { api: 'embeddings' } : {};
  }

  /** The client leaves; while its admission is under way, this crosses it on the link. */
  #leave(proxy: SimProxy, turn: SimTurn): void {
    if (proxy.turns.get(turn.spec.turn) !== turn || turn.replica !== null || this.#calm) return;
    proxy.turns.delete(turn.spec.turn);
    this.#count('abandoned');
    this.#admitted.delete(turn.spec.turn);
    this.#say(proxy, { type: 'turnAbandoned', turn: turn.spec.turn });
    this.#later(this.#upTo(3_000), () => this.#agentTurn(turn.agent));
  }

  // Faults

  #fault(): void {
    if (this.#calm) return;
    const kinds = ['link', 'link', 'pool', 'clock', 'end', 'strangers', 'same link'] as const;
    const kind = this.#pick(kinds);
    const proxy = this.#pick(this.#proxies);
    if (kind === 'link') this.#unlink(proxy);
    if (kind === 'pool') this.#changePool();
    if (kind === 'clock') this.#jump();
    if (kind === 'end' && proxy.linked) {
      this.#count('ended run');
      this.#apply({ type: 'runEnded', proxy: proxy.id, run: this.#pick(this.#agents).run });
      this.#forgetDropped();
    }
    if (kind === 'strangers' && proxy.linked) {
      this.#count('foreign report');
      const turn = this.#pick([...this.#state.turns.keys(), 'nobody' as TurnId]);
      const owner = this.#state.turns.get(turn)?.proxy.id;
      if (owner !== proxy.id) this.#apply({ type: 'turnFinished', proxy: proxy.id, turn, outcome: 'done' });
    }
    if (kind === 'same link' && proxy.linked) {
      // A new connection that replaces the old one before that was seen to be dead.
      this.#count('replaced link');
      proxy.linked = false;
      this.#link(proxy);
    }
    this.#later(500 + this.#upTo(6_000), () => this.#fault());
  }

  #changePool(): void {
    this.#count('changed pool');
    const kept = pool.filter(({ id }) => id === 'a' || id === 'judge' || this.#chance(0.6));
    this.#members = kept.map((config) =>
      config.maxConcurrent === undefined || config.id === 'judge'
        ? config
        : { ...config, maxConcurrent: 1 + this.#upTo(5) },
    );
    this.#reconfigure();
  }

  #reconfigure(): void {
    this.#apply({ type: 'poolChanged', replicas: this.#members });
  }

  #jump(): void {
    this.#count('clock jump');
    this.#clockSkewMs += this.#pick([-3_600_000, -500, 700, 20_000]);
  }

  // The end

  /** No more faults or new turns; everything is healthy, linked and configured as at first. */
  #mend(): void {
    this.#calm = true;
    this.#members = pool;
    this.#reconfigure();
    for (const proxy of this.#proxies) this.#link(proxy);
  }

  #busy(): boolean {
    return this.#state.turns.size > 0 || this.#proxies.some((proxy) => proxy.turns.size > 0);
  }

  #stuck(): unknown {
    return {
      scheduler: [...this.#state.turns.values()].slice(0, 5).map((turn) => [turn.spec, turn.replica?.id]),
      proxies: this.#proxies.map((proxy) => [proxy.id, proxy.linked, [...proxy.turns.values()].slice(0, 3)]),
    };
  }
}

/** Three system prompts of 512 tokens begin all conversations; the rest of each is its own. */
function prefixOf({ run, contextTokens, caller }: Agent): string[] {
  const blocks = Math.floor(contextTokens / 256);
  return Array.from({ length: blocks }, (_, block) => (block < 2 ? `${caller}${block}` : `${run}.${block}`));
}

/** Where runs are resident that have a turn to admit, that of the event included. */
function residentWaiters(state: SchedulerState, event: SchedulerEvent): ReadonlySet<string> {
  const waiters = event.type === 'turnArrived' ? [state.runs.get(event.spec.run)] : [];
  if (state.heldTurns > 0) waiters.push(...[...state.runs.values()].filter((run) => run.heldTurns > 0));
  return new Set(
    waiters.flatMap((run) => (run?.residences ?? []).map(({ replica: home }) => `${run?.id}@${home.id}`)),
  );
}
