/**
 * One probe of one replica: its health path, its models and APIs when they are asked for, its load when its
 * engine publishes one. Never throws.
 */
import { z } from 'zod';
import type { Api, ReplicaConfig } from '../../contracts/config-file.ts';
import type { EngineLoad } from '../core/events.ts';
import { get, getJson, type GetOptions } from './bounded-get.ts';
import { probeCapacity } from './engine-capacity.ts';
import { addLoads, readEngineLoad, reportsLoad } from './engine-metrics.ts';
import { askApis, tellsApis } from './served-apis.ts';

export interface ProbeResult {
  readonly healthy: boolean;
  /** Why it is unhealthy, in words. */
  readonly failure: string | null;
  readonly models?: readonly string[];
  /** Absent: not asked this time. null: it does not tell. */
  readonly apis?: readonly Api[] | null;
  readonly load?: EngineLoad;
}

export interface ProbeOptions extends GetOptions {
  /** Whether `/v1/models` is asked this time. */
  readonly askModels: boolean;
  /** Whether it is asked this time, if it is healthy, which APIs it serves. */
  readonly askApis: boolean;
  /** Models known so far, to tell apart the metrics of several models. */
  readonly models: readonly string[];
  /** Whether the engine is asked this time for what does not change while it runs. */
  readonly askCapacity: boolean;
}

export async function probeReplica(replica: ReplicaConfig, options: ProbeOptions): Promise<ProbeResult> {
  const [health, models, load] = await Promise.all([
    get(`${replica.url}${replica.healthPath}`, options),
    options.askModels ? probeModels(replica, options) : undefined,
    probeLoad(replica, options),
  ]);
  const failure = 'fault' in health ? `${replica.healthPath}: ${health.fault}` : null;
  const apis = await probeApis(replica, failure === null, options);
  return {
    healthy: failure === null,
    failure,
    ...(models === undefined ? {} : { models }),
    ...(apis === undefined ? {} : { apis }),
    ...(load === undefined ? {} : { load }),
  };
}

/** What does not tell, or need not, is settled without being asked; what is unhealthy is asked later. */
async function probeApis(
  replica: ReplicaConfig,
  healthy: boolean,
  options: ProbeOptions,
): Promise<readonly Api[] | null | undefined> {
  if (!tellsApis(replica)) return null;
  return healthy && options.askApis ? await askApis(replica, options) : undefined;
}

const modelListSchema = z.object({ data: z.array(z.object({ id: z.string().min(1) })) });

async function probeModels(
  replica: ReplicaConfig,
  options: ProbeOptions,
): Promise<readonly string[] | undefined> {
  const list = modelListSchema.safeParse(await getJson(`${replica.url}/v1/models`, options));
  return list.success ? [...new Set(list.data.data.map((model) => model.id))] : undefined;
}

async function probeLoad(replica: ReplicaConfig, options: ProbeOptions): Promise<EngineLoad | undefined> {
  if (!reportsLoad(replica.engine)) return undefined;
  const urls = replica.loadFrom ?? [replica.url];
  const [answers, asked] = await Promise.all([
    Promise.all(urls.map((url) => get(`${url}/metrics`, options))),
    options.askCapacity ? probeCapacity(replica.engine, urls, options) : null,
  ]);
  const loads = answers.flatMap((answer) =>
    'fault' in answer ? [] : [readEngineLoad(replica.engine, answer.body, options.models)],
  );
  const metrics = addLoads(loads);
  const complete = loads.length === urls.length;
  const load = {
    ...metrics,
    capacityTokens: asked?.capacityTokens ?? (complete ? metrics.capacityTokens : null),
    capacityContexts: asked?.capacityContexts ?? null,
  };
  return Object.values(load).every((value) => value === null) ? undefined : load;
}
