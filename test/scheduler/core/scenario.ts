/**
 * Drives the core by hand in tests: given a pool, when these events come, then these effects. After every
 * event the invariants are checked.
 */
import {
  configFileSchema,
  replicaConfigSchema,
  type Api,
  type Callers,
  type Policy,
  type ReplicaConfig,
} from '../../../contracts/config-file.ts';
import type { Caller, ProxyId, ReplicaId, RunId, TurnId } from '../../../contracts/ids.ts';
import type { ProxyMessage, ResyncRun, TurnOutcome, TurnSpec } from '../../../contracts/link-protocol.ts';
import type { Effect, EngineLoad, SchedulerEvent } from '../../../scheduler/core/events.ts';
import { createState, type Replica, type Run, type SchedulerState } from '../../../scheduler/core/state.ts';
import { step } from '../../../scheduler/core/step.ts';
import { brokenInvariants } from './invariants.ts';

type Timeless = SchedulerEvent extends infer Event
  ? Event extends SchedulerEvent
    ? Omit<Event, 'atMs'>
    : never
  : never;

export interface TurnFields {
  readonly run?: string;
  readonly class?: 'interactive' | 'batch';
  readonly caller?: string;
  readonly model?: string | null;
  readonly api?: TurnSpec['api'];
  readonly turnNumber?: number;
  /** It goes on from what this replica stores; null: from what its run's last replica does. */
  readonly storedOn?: string | null;
  readonly promptTokens?: number;
  readonly maxTokens?: number;
  readonly prefix?: readonly string[];
  readonly proxy?: string;
  readonly heldForMs?: number;
}

type Resync = Extract<ProxyMessage, { type: 'resync' }>;

export function defaultPolicy(fields: Partial<Policy> = {}): Policy {
  const parsed = configFileSchema.parse({ pool: [{ id: 'a', url: 'http://a' }], policy: fields });
  return parsed.policy;
}

/** A replica of model `m` unless it says otherwise. */
export function replica(id: string, fields: Record<string, unknown> = {}): ReplicaConfig {
  return replicaConfigSchema.parse({ id, url: `http://${id}`, engine: 'vllm', models: ['m'], ...fields });
}

export function spec(turn: string, fields: TurnFields = {}): TurnSpec {
  return {
    turn: turn as TurnId,
    run: (fields.run ?? `run-of-${turn}`) as RunId,
    class: fields.class ?? 'interactive',
    caller: (fields.caller ?? 'alice') as Caller,
    model: fields.model === undefined ? 'm' : fields.model,
    api: fields.api ?? 'chat',
    promptTokens: fields.promptTokens ?? 100,
    maxTokens: fields.maxTokens ?? null,
    prefix: [...(fields.prefix ?? [])],
    ...(fields.turnNumber === undefined ? {} : { turnNumber: fields.turnNumber }),
    ...(fields.storedOn === undefined ? {} : { stored: { replica: fields.storedOn as ReplicaId | null } }),
  };
}

/** What a reply tells at its end. */
export interface Report {
  /** Tokens of prompt and output. */
  readonly usage?: readonly [number, number];
  readonly cachedTokens?: number;
  readonly toolNames?: readonly string[];
}

export class Scenario {
  readonly state: SchedulerState;
  readonly log: SchedulerEvent[] = [];
  nowMs = 1_000;

  /** A pool that was probed healthy and reports no load, and one proxy, `p`. */
  constructor(pool: readonly ReplicaConfig[], policy: Partial<Policy> = {}, callers: Callers = {}) {
    this.state = createState(defaultPolicy(policy), callers);
    this.send({ type: 'poolChanged', replicas: pool });
    this.resync('p');
    for (const { id } of pool) this.probe(id);
    // Past the time in which a first resync with turns makes admissions wait for other proxies.
    this.nowMs += 2_000;
    this.send({ type: 'ticked' });
  }

  /** Applies an event; returns what is to be done, without the records. */
  send(event: Timeless): Effect[] {
    return this.sendAll(event).filter((effect) => effect.type !== 'recorded');
  }

  /** Applies an event; returns every effect. */
  sendAll(event: Timeless): Effect[] {
    const full = { ...event, atMs: this.nowMs };
    this.log.push(full);
    const effects = step(this.state, full);
    const broken = brokenInvariants(this.state);
    if (broken.length > 0) throw new Error(`${broken.join('; ')} after ${JSON.stringify(full)}`);
    return effects;
  }

  /** Lets time pass in ticks of one second. Returns the effects of all of them. */
  pass(ms: number): Effect[] {
    const effects: Effect[] = [];
    for (let left = ms; left > 0; left -= 1_000) {
      this.nowMs += Math.min(1_000, left);
      effects.push(...this.send({ type: 'ticked' }));
    }
    return effects;
  }

  arrive(turn: string, fields: TurnFields = {}): string[] {
    const proxy = (fields.proxy ?? 'p') as ProxyId;
    const heldForMs = fields.heldForMs ?? 0;
    return admitted(this.send({ type: 'turnArrived', proxy, spec: spec(turn, fields), heldForMs }));
  }

  finish(turn: string, outcome: TurnOutcome = 'done', proxy = 'p', report: Report = {}): string[] {
    const { usage, ...others } = report;
    return admitted(
      this.send({
        type: 'turnFinished',
        proxy: proxy as ProxyId,
        turn: turn as TurnId,
        outcome,
        ...(usage === undefined ? {} : { usage: { promptTokens: usage[0], completionTokens: usage[1] } }),
        ...others,
      }),
    );
  }

  abandon(turn: string, proxy = 'p'): string[] {
    return admitted(this.send({ type: 'turnAbandoned', proxy: proxy as ProxyId, turn: turn as TurnId }));
  }

  /** @param apis as it tells them; by default it does not. */
  probe(
    id: string,
    load?: Partial<EngineLoad> | null,
    healthy = true,
    models?: string[],
    apis: readonly Api[] | null = null,
  ): string[] {
    return admitted(
      this.send({
        type: 'replicaProbed',
        replica: id as ReplicaId,
        healthy,
        apis,
        ...(models === undefined ? {} : { models }),
        ...(load === undefined || load === null
          ? {}
          : {
              load: {
                running: null,
                waiting: null,
                cacheUsage: null,
                capacityTokens: null,
                capacityContexts: null,
                ...load,
              },
            }),
      }),
    );
  }

  resync(
    proxy: string,
    fields: { runs?: ResyncRun[]; held?: Resync['held']; inFlight?: Resync['inFlight'] } = {},
  ): Effect[] {
    return this.send({
      type: 'proxyResynced',
      proxy: proxy as ProxyId,
      runs: [],
      held: [],
      inFlight: [],
      ...fields,
    });
  }

  lose(proxy = 'p'): string[] {
    return admitted(this.send({ type: 'proxyLost', proxy: proxy as ProxyId }));
  }

  replicaOf(turn: string): string | undefined {
    return this.state.turns.get(turn as TurnId)?.replica?.id;
  }

  run(id: string): Run | undefined {
    return this.state.runs.get(id as RunId);
  }

  /** One whole turn of a run: arrives, is admitted at once, ends. Returns the replica that served it. */
  serve(turn: string, fields: TurnFields = {}, outcome: TurnOutcome = 'paused'): string | undefined {
    this.arrive(turn, fields);
    const served = this.replicaOf(turn);
    this.finish(turn, outcome, fields.proxy);
    return served;
  }
}

/** @throws Error when there is none. */
export function replicaState(scenario: Scenario, id: string): Replica {
  const found = scenario.state.replicas.get(id as ReplicaId);
  if (found === undefined) throw new Error(`there is no replica ${id}`);
  return found;
}

/** Admissions as `turn@replica`, in order. */
export function admitted(effects: readonly Effect[]): string[] {
  return effects.flatMap((effect) => (effect.type === 'admit' ? [`${effect.turn}@${effect.replica}`] : []));
}

/** Rejections as `turn:code`, in order. */
export function rejected(effects: readonly Effect[]): string[] {
  return effects.flatMap((effect) => (effect.type === 'reject' ? [`${effect.turn}:${effect.code}`] : []));
}
