/**
 * What an engine's `/metrics` say of its load, in the names of each engine. Pure. Sums over ranks; what is
 * absent or not a finite number is null, which means unknown and never zero.
 */
import type { Engine } from '../../contracts/config-file.ts';
import type { EngineLoad } from '../core/events.ts';
import { parseFamilies, type Families, type Sample } from './metrics-text.ts';

interface Source {
  readonly family: string;
  /** Only samples that carry these labels. */
  readonly where?: Readonly<Record<string, string>>;
}

/** The first source that has samples counts. */
interface EngineNames {
  readonly running: readonly Source[];
  readonly waiting: readonly Source[];
  readonly cacheUsage: readonly Source[];
}

const names: Readonly<Partial<Record<Engine, EngineNames>>> = {
  vllm: {
    running: [{ family: 'vllm:num_requests_running' }],
    waiting: [
      { family: 'vllm:num_requests_waiting_by_reason', where: { reason: 'capacity' } },
      { family: 'vllm:num_requests_waiting' },
    ],
    cacheUsage: [{ family: 'vllm:kv_cache_usage_perc' }, { family: 'vllm:gpu_cache_usage_perc' }],
  },
  sglang: {
    running: [{ family: 'sglang:num_running_reqs' }],
    waiting: [{ family: 'sglang:num_queue_reqs' }],
    cacheUsage: [{ family: 'sglang:token_usage' }],
  },
  llamacpp: {
    running: [{ family: 'llamacpp:requests_processing' }],
    waiting: [{ family: 'llamacpp:requests_deferred' }],
    cacheUsage: [{ family: 'llamacpp:kv_cache_usage_ratio' }],
  },
  tgi: {
    running: [{ family: 'tgi_batch_current_size' }],
    waiting: [{ family: 'tgi_queue_size' }],
    cacheUsage: [],
  },
  trtllm: {
    running: [{ family: 'nv_trt_llm_request_metrics', where: { request_type: 'scheduled' } }],
    waiting: [{ family: 'nv_trt_llm_request_metrics', where: { request_type: 'waiting' } }],
    cacheUsage: [{ family: 'nv_trt_llm_kv_cache_block_metrics', where: { kv_cache_block_type: 'fraction' } }],
  },
};

/** What metrics tell; slots are told elsewhere. */
export type ToldLoad = Omit<EngineLoad, 'capacityContexts'>;

const unknownLoad: ToldLoad = { running: null, waiting: null, cacheUsage: null, capacityTokens: null };

/** Labels of its one sample a rank say how the cache is made: blocks and tokens in a block. */
const vllmCacheConfig = 'vllm:cache_config_info';
const sglangCapacity = 'sglang:max_total_num_tokens';

/** Whether this engine publishes a load that can be read. */
export function reportsLoad(engine: Engine): boolean {
  return names[engine] !== undefined;
}

/**
 * The load in a metrics text. Samples that carry a `model_name` of another model are left out, unless
 * none carries one of `models`: an engine may name its metrics otherwise than its API.
 */
export function readEngineLoad(engine: Engine, text: string, models: readonly string[]): ToldLoad {
  const known = names[engine];
  if (known === undefined) return unknownLoad;
  const sources = [...known.running, ...known.waiting, ...known.cacheUsage];
  const named = new Set(sources.flatMap(({ family }) => [family, `${family}_total`]));
  const families = parseFamilies(text, new Set([...named, vllmCacheConfig, sglangCapacity]));
  const values = (list: readonly Source[]): number[] | null => firstValues(families, list, models);
  return {
    running: sum(values(known.running)),
    waiting: sum(values(known.waiting)),
    cacheUsage: largest(values(known.cacheUsage)),
    capacityTokens: capacityIn(engine, families),
  };
}

/** Adds up what the engines behind a router report; an engine that says nothing is left out. */
export function addLoads(loads: readonly ToldLoad[]): ToldLoad {
  const known = (pick: (load: ToldLoad) => number | null): number[] =>
    loads.map(pick).filter((value) => value !== null);
  return {
    running: sum(known((load) => load.running)),
    waiting: sum(known((load) => load.waiting)),
    cacheUsage: largest(known((load) => load.cacheUsage)),
    // Of some engines alone it would be too small for all of them.
    capacityTokens: loads.some((load) => load.capacityTokens === null)
      ? null
      : sum(known((load) => load.capacityTokens)),
  };
}

/** Tokens of KV memory over all ranks; null when one of them does not say. */
function capacityIn(engine: Engine, families: Families): number | null {
  if (engine === 'sglang') return sum(firstValues(families, [{ family: sglangCapacity }], []));
  if (engine !== 'vllm') return null;
  const ranks = (families.get(vllmCacheConfig) ?? []).map(
    ({ labels }) => Number(labels['num_gpu_blocks']) * Number(labels['block_size']),
  );
  return ranks.every((tokens) => Number.isSafeInteger(tokens) && tokens > 0) ? sum(ranks) : null;
}

function firstValues(
  families: Families,
  sources: readonly Source[],
  models: readonly string[],
): number[] | null {
  for (const { family, where = {} } of sources) {
    const samples = [...(families.get(family) ?? []), ...(families.get(`${family}_total`) ?? [])].filter(
      ({ labels }) => Object.entries(where).every(([label, value]) => labels[label] === value),
    );
    if (samples.length === 0) continue;
    const values = ofModels(samples, models).map(({ value }) => value);
    return values.every((value) => Number.isFinite(value)) ? values : null;
  }
  return null;
}

function ofModels(samples: readonly Sample[], models: readonly string[]): readonly Sample[] {
  const own = samples.filter(({ labels }) => {
    const model = labels['model_name'];
    return model === undefined || models.includes(model);
  });
  return own.length > 0 ? own : samples;
}

function sum(values: readonly number[] | null): number | null {
  return values === null || values.length === 0 ? null : values.reduce((total, value) => total + value, 0);
}

function largest(values: readonly number[] | null): number | null {
  return values === null || values.length === 0 ? null : Math.max(...values);
}
