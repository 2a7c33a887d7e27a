/**
 * One probe of one replica: its health path, its models when they are asked for, its load when its engine
 * publishes one. Every request has a time limit and a bound on its body. Never throws.
 */
import { request, type Dispatcher } from 'undici';
import { z } from 'zod';
import type { ReplicaConfig } from '../../contracts/config-file.ts';
import type { EngineLoad } from '../core/events.ts';
import { addLoads, readEngineLoad, reportsLoad } from './engine-metrics.ts';

const probeTimeoutMs = 2_000;
const maxBodyBytes = 4 * 1024 * 1024;

export interface ProbeResult {
  readonly healthy: boolean;
  /** Why it is unhealthy, in words. */
  readonly failure: string | null;
  readonly models?: readonly string[];
  readonly load?: EngineLoad;
}

export interface ProbeOptions {
  readonly dispatcher: Dispatcher;
  readonly apiKey: string | null;
  /** Whether `/v1/models` is asked this time. */
  readonly askModels: boolean;
  /** Models known so far, to tell apart the metrics of several models. */
  readonly models: readonly string[];
  /** Ends the probe early. */
  readonly signal: AbortSignal;
}

export async function probeReplica(replica: ReplicaConfig, options: ProbeOptions): Promise<ProbeResult> {
  const [health, models, load] = await Promise.all([
    get(`${replica.url}${replica.healthPath}`, options),
    options.askModels ? probeModels(replica, options) : undefined,
    probeLoad(replica, options),
  ]);
  const failure = 'fault' in health ? `${replica.healthPath}: ${health.fault}` : null;
  return {
    healthy: failure === null,
    failure,
    ...(models === undefined ? {} : { models }),
    ...(load === undefined ? {} : { load }),
  };
}

const modelListSchema = z.object({ data: z.array(z.object({ id: z.string().min(1) })) });

async function probeModels(
  replica: ReplicaConfig,
  options: ProbeOptions,
): Promise<readonly string[] | undefined> {
  const answer = await get(`${replica.url}/v1/models`, options);
  if ('fault' in answer) return undefined;
  const list = modelListSchema.safeParse(parseJson(answer.body));
  return list.success ? [...new Set(list.data.data.map((model) => model.id))] : undefined;
}

async function probeLoad(replica: ReplicaConfig, options: ProbeOptions): Promise<EngineLoad | undefined> {
  if (!reportsLoad(replica.engine)) return undefined;
  const answers = await Promise.all(
    (replica.loadFrom ?? [replica.url]).map((url) => get(`${url}/metrics`, options)),
  );
  const loads = answers.flatMap((answer) =>
    'fault' in answer ? [] : [readEngineLoad(replica.engine, answer.body, options.models)],
  );
  const load = addLoads(loads);
  return load.running === null && load.waiting === null && load.cacheUsage === null ? undefined : load;
}

type Answer = { readonly body: string } | { readonly fault: string };

async function get(url: string, { dispatcher, apiKey, signal }: ProbeOptions): Promise<Answer> {
  try {
    const { statusCode, body } = await request(url, {
      dispatcher,
      headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(probeTimeoutMs)]),
    });
    const text = await readBounded(body);
    return statusCode >= 200 && statusCode < 300 ? { body: text } : { fault: `status ${statusCode}` };
  } catch (error) {
    return { fault: describeFault(error) };
  }
}

async function readBounded(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) throw new Error(`the answer is larger than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${probeTimeoutMs} ms`;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
