/**
 * The real scheduler core as an arm: one proxy, events as the proxy and the host send them, engine load read
 * from the engine's own metrics text as the host reads it.
 */
import type { Callers, Policy, ReplicaConfig } from '../../../contracts/config-file.ts';
import { policySchema, replicaConfigSchema } from '../../../contracts/config-file.ts';
import type { Caller, ProxyId, ReplicaId, RunId, TurnId } from '../../../contracts/ids.ts';
import type { Effect, EngineLoad, SchedulerEvent } from '../../../scheduler/core/events.ts';
import { createState } from '../../../scheduler/core/state.ts';
import { step } from '../../../scheduler/core/step.ts';
import { readEngineLoad } from '../../../scheduler/host/engine-metrics.ts';
import type { Admission, Arm, ArmKind, ArmOptions } from './arm.ts';

export interface CoreOptions {
  /** As in the configuration file; defaults for the rest. */
  readonly policy: Readonly<Record<string, unknown>>;
  readonly callers?: Callers;
  /** False: the engine does not say how much memory it has. */
  readonly capacityReported: boolean;
}

const proxy = 'proxy' as ProxyId;
const model = 'm';
const probeIntervalMs = 2_000;

export function coreArm(name: string, about: string, options: CoreOptions): ArmKind {
  return { name, about, create: (arm) => createCoreArm(arm, options) };
}

function createCoreArm({ replicas }: ArmOptions, options: CoreOptions): Arm {
  const policy: Policy = policySchema.parse(options.policy);
  const state = createState(policy, options.callers ?? {});
  const pool: readonly ReplicaConfig[] = Array.from({ length: replicas }, (_, index) =>
    replicaConfigSchema.parse({
      id: `r${index}`,
      url: `http://r${index}`,
      engine: 'vllm',
      models: [model],
    }),
  );
  const placeOf = new Map(pool.map(({ id }, index) => [id, index]));
  let opened = false;

  const send = (event: SchedulerEvent): Admission[] => admissionsIn(step(state, event), placeOf);

  return {
    probeIntervalMs,
    arrived: (turn, atMs) =>
      send({
        type: 'turnArrived',
        atMs,
        proxy,
        heldForMs: 0,
        spec: {
          turn: turn.id as TurnId,
          run: turn.run as RunId,
          class: turn.class,
          caller: turn.caller as Caller,
          model,
          api: 'chat',
          promptTokens: turn.promptTokens,
          maxTokens: null,
          prefix: [...turn.prefix],
        },
      }),
    started: (turn, atMs) => send({ type: 'turnStarted', atMs, proxy, turn: turn as TurnId }),
    finished: (turn, end, atMs) =>
      send({
        type: 'turnFinished',
        atMs,
        proxy,
        turn: turn as TurnId,
        outcome: end.outcome,
        usage: { promptTokens: end.promptTokens, completionTokens: end.outputTokens },
        cachedTokens: end.cachedTokens,
        ...(end.toolName === null ? {} : { toolNames: [end.toolName] }),
      }),
    runEnded: (run, atMs) => send({ type: 'runEnded', atMs, proxy, run: run as RunId }),
    probed(probes, atMs) {
      const admissions: Admission[] = [];
      if (!opened) {
        opened = true;
        admissions.push(...send({ type: 'poolChanged', atMs, replicas: pool }));
        admissions.push(...send({ type: 'proxyResynced', atMs, proxy, runs: [], held: [], inFlight: [] }));
      }
      for (const probe of probes) {
        const id = pool[probe.replica]?.id;
        if (id === undefined) continue;
        const load = loadFrom(probe.metrics(), options.capacityReported);
        admissions.push(...send({ type: 'replicaProbed', atMs, replica: id, healthy: true, load }));
      }
      return admissions;
    },
    ticked: (atMs) => send({ type: 'ticked', atMs }),
  };
}

function loadFrom(metrics: string, capacityReported: boolean): EngineLoad {
  const text = capacityReported ? metrics : withoutCapacity(metrics);
  return { ...readEngineLoad('vllm', text, [model]), capacityContexts: null };
}

/** What an engine would say that keeps its capacity to itself. */
function withoutCapacity(metrics: string): string {
  return metrics.replaceAll(/^vllm:cache_config_info.*$/gm, '');
}

/** @throws Error when the core refuses or aborts a turn: no client here gives cause for that. */
function admissionsIn(effects: readonly Effect[], placeOf: ReadonlyMap<ReplicaId, number>): Admission[] {
  return effects.flatMap((effect): Admission[] => {
    switch (effect.type) {
      case 'admit':
        return [{ turn: effect.turn, replica: placeOf.get(effect.replica) ?? 0 }];
      case 'recorded':
        return [];
      case 'reject':
      case 'abort':
        throw new Error(`the core answered ${JSON.stringify(effect)}`);
      default:
        return effect satisfies never;
    }
  });
}
