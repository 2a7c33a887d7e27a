/**
 * What a simulated engine reports of itself, under the names that vLLM, SGLang and llama.cpp use. Only the
 * families that say something about load, memory and tokens.
 */
import { loadOf, type EngineState } from './core/engine-state.ts';
import { blockTokens } from './core/tokens.ts';

export const dialects = ['vllm', 'sglang', 'llamacpp'] as const;
export type Dialect = (typeof dialects)[number];

interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
  readonly value: number;
  /** Beyond those that every family of the engine has. */
  readonly labels?: readonly string[];
}

const gauge = (name: string, value: number, help: string, labels: readonly string[] = []): Family => ({
  name,
  type: 'gauge',
  help,
  value,
  labels,
});
const counter = (name: string, value: number, help: string): Family => ({
  name,
  type: 'counter',
  help,
  value,
});

/** The body of `/metrics`. */
export function metricsText(dialect: Dialect, state: EngineState, model: string): string {
  const families = { vllm: vllmFamilies, sglang: sglangFamilies, llamacpp: llamacppFamilies }[dialect](state);
  const common = {
    vllm: ['engine="0"', `model_name="${model}"`],
    sglang: ['engine_type="unified"', `model_name="${model}"`, 'pp_rank="0"', 'tp_rank="0"'],
    llamacpp: [],
  }[dialect];
  return `${families
    .map(({ name, type, help, value, labels = [] }) => {
      const all = [...common, ...labels].join(',');
      const number = Number.isInteger(value) ? value.toFixed(1) : String(value);
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name}${all === '' ? '' : `{${all}}`} ${number}`;
    })
    .join('\n')}\n`;
}

function vllmFamilies(state: EngineState): readonly Family[] {
  const { running, waiting, usedBlocks, totalBlocks } = loadOf(state);
  const { counters } = state;
  const cacheConfig = [
    `block_size="${blockTokens}"`,
    'cache_dtype="auto"',
    'enable_prefix_caching="True"',
    'gpu_memory_utilization="0.9"',
    `num_gpu_blocks="${totalBlocks}"`,
    'num_gpu_blocks_override="None"',
  ];
  return [
    gauge('vllm:num_requests_running', running, 'Requests in execution batches.'),
    gauge('vllm:num_requests_waiting', waiting, 'Requests waiting.'),
    gauge('vllm:num_requests_waiting_by_reason', waiting, 'Requests waiting by reason.', [
      'reason="capacity"',
    ]),
    gauge('vllm:kv_cache_usage_perc', usedBlocks / totalBlocks, 'KV cache usage; 1 is all of it.'),
    gauge('vllm:cache_config_info', 1, 'Configuration of the cache.', cacheConfig),
    counter('vllm:num_preemptions_total', counters.preemptions, 'Preemptions.'),
    counter('vllm:prefix_cache_queries_total', counters.promptTokens, 'Prefix cache queries in tokens.'),
    counter('vllm:prefix_cache_hits_total', counters.cachedTokens, 'Prefix cache hits in tokens.'),
    counter('vllm:prompt_tokens_total', counters.promptTokens, 'Prefill tokens processed.'),
    counter('vllm:generation_tokens_total', counters.outputTokens, 'Generation tokens processed.'),
  ];
}

function sglangFamilies(state: EngineState): readonly Family[] {
  const { running, waiting, usedBlocks, totalBlocks } = loadOf(state);
  const { promptTokens, cachedTokens, outputTokens } = state.counters;
  const hitRate = promptTokens === 0 ? 0 : cachedTokens / promptTokens;
  return [
    gauge('sglang:num_running_reqs', running, 'Running requests.'),
    gauge('sglang:num_queue_reqs', waiting, 'Requests in the waiting queue.'),
    gauge('sglang:num_used_tokens', usedBlocks * blockTokens, 'Used tokens.'),
    gauge('sglang:token_usage', usedBlocks / totalBlocks, 'Token usage.'),
    gauge('sglang:cache_hit_rate', hitRate, 'Prefix cache hit rate.'),
    counter('sglang:prompt_tokens_total', promptTokens, 'Prefill tokens processed.'),
    counter('sglang:generation_tokens_total', outputTokens, 'Generation tokens processed.'),
  ];
}

function llamacppFamilies(state: EngineState): readonly Family[] {
  const { running, waiting } = loadOf(state);
  const { prefillTokens, cachedTokens, outputTokens, steps } = state.counters;
  return [
    counter('llamacpp:prompt_tokens_total', prefillTokens, 'Prompt tokens processed.'),
    counter('llamacpp:prompt_tokens_cached_total', cachedTokens, 'Prompt tokens found in the cache.'),
    counter('llamacpp:tokens_predicted_total', outputTokens, 'Generation tokens processed.'),
    counter('llamacpp:n_decode_total', steps, 'Decode calls.'),
    gauge('llamacpp:requests_processing', running, 'Requests processing.'),
    gauge('llamacpp:requests_deferred', waiting, 'Requests deferred.'),
  ];
}

/**
 * The other read-only endpoints of each engine, by path; null: this dialect has no such path.
 * @param generates whether the model writes or only reads.
 */
export function describeEngine(
  path: string,
  dialect: Dialect,
  state: EngineState,
  model: string,
  generates: boolean,
): unknown {
  const capacityTokens = state.pool.total * blockTokens;
  const { config } = state;
  switch (`${dialect} ${path}`) {
    case 'sglang /get_server_info':
    case 'sglang /server_info':
      return {
        model_path: model,
        served_model_name: model,
        max_total_num_tokens: capacityTokens,
        max_running_requests: config.maxRunning,
        chunked_prefill_size: config.chunkTokens,
        internal_states: [{ max_total_num_tokens: capacityTokens }],
      };
    case 'sglang /get_model_info':
    case 'sglang /model_info':
      return { model_path: model, tokenizer_path: model, is_generation: generates };
    case 'vllm /version':
      return { version: 'sim' };
    case 'llamacpp /props':
      return {
        default_generation_settings: { n_ctx: Math.floor(capacityTokens / config.maxRunning) },
        total_slots: config.maxRunning,
        model_path: model,
        model_alias: model,
        build_info: 'sim',
      };
    case 'llamacpp /slots':
      return Array.from({ length: config.maxRunning }, (_, id) => ({
        id,
        n_ctx: Math.floor(capacityTokens / config.maxRunning),
        is_processing: id < state.running.length,
      }));
    default:
      return null;
  }
}
