/** What engines say of their load, in their own words (case G04 and its kind). */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Engine } from '../../../contracts/config-file.ts';
import { addLoads, readEngineLoad } from '../../../scheduler/host/engine-metrics.ts';
import { parseFamilies } from '../../../scheduler/host/metrics-text.ts';
import { caseFile } from '../../case-file.ts';

const lines = (...texts: string[]): string => texts.map((text) => `${text}\n`).join('');

describe('the load of an engine', () => {
  it.each<
    [
      string,
      Engine,
      string,
      {
        running: number | null;
        waiting: number | null;
        cacheUsage: number | null;
        capacityTokens: number | null;
      },
    ]
  >([
    [
      'vllm, one engine, old names',
      'vllm',
      lines(
        '# HELP vllm:num_requests_running running',
        '# TYPE vllm:num_requests_running gauge',
        'vllm:num_requests_running{model_name="m-test"} 3.0',
        'vllm:num_requests_waiting{model_name="m-test"} 2.0',
        'vllm:gpu_cache_usage_perc{model_name="m-test"} 0.41',
      ),
      { running: 3, waiting: 2, cacheUsage: 0.41, capacityTokens: null },
    ],
    [
      'vllm, two data-parallel ranks, new names',
      'vllm',
      lines(
        'vllm:num_requests_running{engine="0",model_name="m-test"} 4.0',
        'vllm:num_requests_running{engine="1",model_name="m-test"} 6.0',
        'vllm:num_requests_waiting{engine="0",model_name="m-test"} 0.0',
        'vllm:num_requests_waiting{engine="1",model_name="m-test"} 5.0',
        'vllm:kv_cache_usage_perc{engine="0",model_name="m-test"} 9.5e-02',
        'vllm:kv_cache_usage_perc{engine="1",model_name="m-test"} 0.97',
        'vllm:prefix_cache_hits_created{engine="0",model_name="m-test"} 1.7672256e+09',
      ),
      { running: 10, waiting: 5, cacheUsage: 0.97, capacityTokens: null },
    ],
    [
      'vllm, both cache names',
      'vllm',
      lines(
        'vllm:num_requests_running{engine="0",model_name="m-test"} 1.0',
        'vllm:num_requests_waiting{engine="0",model_name="m-test"} 0.0',
        'vllm:gpu_cache_usage_perc{engine="0",model_name="m-test"} 0.3',
        'vllm:kv_cache_usage_perc{engine="0",model_name="m-test"} 0.3',
      ),
      { running: 1, waiting: 0, cacheUsage: 0.3, capacityTokens: null },
    ],
    [
      'vllm, waiting by reason: only what waits for capacity counts',
      'vllm',
      lines(
        'vllm:num_requests_running{engine="0",model_name="m-test"} 1.0',
        'vllm:num_requests_waiting{engine="0",model_name="m-test"} 9.0',
        'vllm:num_requests_waiting_by_reason{engine="0",model_name="m-test",reason="capacity"} 2.0',
        'vllm:num_requests_waiting_by_reason{engine="0",model_name="m-test",reason="deferred"} 7.0',
      ),
      { running: 1, waiting: 2, cacheUsage: null, capacityTokens: null },
    ],
    [
      'sglang',
      'sglang',
      lines(
        '# TYPE sglang:num_running_reqs gauge',
        'sglang:num_running_reqs{model_name="m-test"} 7.0',
        'sglang:num_queue_reqs{model_name="m-test"} 1.0',
        'sglang:token_usage{model_name="m-test"} 0.5',
      ),
      { running: 7, waiting: 1, cacheUsage: 0.5, capacityTokens: null },
    ],
    [
      'llama.cpp, without labels',
      'llamacpp',
      lines('llamacpp:requests_processing 2', 'llamacpp:requests_deferred 4'),
      { running: 2, waiting: 4, cacheUsage: null, capacityTokens: null },
    ],
    [
      'a family that ends in _total',
      'llamacpp',
      lines('llamacpp:requests_processing_total 2', 'llamacpp:requests_deferred_total 4'),
      { running: 2, waiting: 4, cacheUsage: null, capacityTokens: null },
    ],
    [
      'tgi',
      'tgi',
      lines('tgi_batch_current_size 5', 'tgi_queue_size 1'),
      { running: 5, waiting: 1, cacheUsage: null, capacityTokens: null },
    ],
    [
      'trtllm',
      'trtllm',
      lines(
        'nv_trt_llm_request_metrics{model="t",request_type="waiting",version="1"} 3',
        'nv_trt_llm_request_metrics{model="t",request_type="scheduled",version="1"} 8',
        'nv_trt_llm_request_metrics{model="t",request_type="active",version="1"} 11',
      ),
      { running: 8, waiting: 3, cacheUsage: null, capacityTokens: null },
    ],
    [
      'vllm that says nothing but NaN',
      'vllm',
      lines(
        'vllm:num_requests_running{engine="0",model_name="m-test"} NaN',
        'process_start_time_seconds 1.7e+09',
      ),
      { running: null, waiting: null, cacheUsage: null, capacityTokens: null },
    ],
    [
      'vllm of which one rank is not a number',
      'vllm',
      lines(
        'vllm:num_requests_running{engine="0",model_name="m-test"} 3',
        'vllm:num_requests_running{engine="1",model_name="m-test"} NaN',
      ),
      { running: null, waiting: null, cacheUsage: null, capacityTokens: null },
    ],
    [
      'vllm beside another model: that one does not count',
      'vllm',
      lines(
        'vllm:num_requests_running{engine="0",model_name="m-test"} 2.0',
        'vllm:num_requests_running{engine="0",model_name="other"} 50.0',
        'vllm:num_requests_waiting{engine="0",model_name="m-test"} 0.0',
        'vllm:num_requests_waiting{engine="0",model_name="other"} 50.0',
        'vllm:kv_cache_usage_perc{engine="0",model_name="m-test"} 0.1',
      ),
      { running: 2, waiting: 0, cacheUsage: 0.1, capacityTokens: null },
    ],
    [
      'vllm that names its model otherwise in its metrics',
      'vllm',
      lines(
        'vllm:num_requests_running{model_name="/models/m"} 2',
        'vllm:num_requests_waiting{model_name="/models/m"} 1',
      ),
      { running: 2, waiting: 1, cacheUsage: null, capacityTokens: null },
    ],
    [
      'an engine of another make than the file says',
      'vllm',
      lines('sglang:num_running_reqs 7'),
      { running: null, waiting: null, cacheUsage: null, capacityTokens: null },
    ],
    [
      'a page that is no metrics text',
      'vllm',
      '<html>\n{}',
      { running: null, waiting: null, cacheUsage: null, capacityTokens: null },
    ],
    [
      'ollama',
      'ollama',
      lines('vllm:num_requests_running 7'),
      { running: null, waiting: null, cacheUsage: null, capacityTokens: null },
    ],
  ])('%s', (_name, engine, text, expected) => {
    expect(readEngineLoad(engine, text, ['m-test'])).toEqual(expected);
  });

  it.each([
    ['vllm, one rank', 'vllm', ['vllm:cache_config_info{block_size="16",num_gpu_blocks="1682"} 1.0'], 26_912],
    [
      'vllm, two ranks',
      'vllm',
      [
        'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="100"} 1.0',
        'vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="50"} 1.0',
      ],
      2_400,
    ],
    [
      'vllm, a rank that does not say',
      'vllm',
      [
        'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="100"} 1.0',
        'vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="None"} 1.0',
      ],
      null,
    ],
    ['vllm without it', 'vllm', ['vllm:num_requests_running 1'], null],
    ['sglang', 'sglang', ['sglang:max_total_num_tokens{model_name="m-test"} 40000'], 40_000],
    ['llama.cpp', 'llamacpp', ['llamacpp:requests_processing 1'], null],
  ] as const)('holds the memory of %s', (_name, engine, text, expected) => {
    expect(readEngineLoad(engine, lines(...text), ['m-test']).capacityTokens).toBe(expected);
  });

  it('behind a router knows no memory when one engine does not say', () => {
    const load = { running: 0, waiting: 0, cacheUsage: 0 };
    expect(
      addLoads([
        { ...load, capacityTokens: 5 },
        { ...load, capacityTokens: null },
      ]).capacityTokens,
    ).toBeNull();
    expect(
      addLoads([
        { ...load, capacityTokens: 5 },
        { ...load, capacityTokens: 7 },
      ]).capacityTokens,
    ).toBe(12);
  });

  it('behind a router is the sum of the engines that answer', () => {
    expect(
      addLoads([
        { running: 3, waiting: 0, cacheUsage: 0.2, capacityTokens: null },
        { running: 4, waiting: 2, cacheUsage: 0.9, capacityTokens: null },
        { running: null, waiting: null, cacheUsage: null, capacityTokens: null },
      ]),
    ).toEqual({ running: 7, waiting: 2, cacheUsage: 0.9, capacityTokens: null });
    expect(addLoads([])).toEqual({ running: null, waiting: null, cacheUsage: null, capacityTokens: null });
  });
});

describe('the metrics text', () => {
  it.each([
    ['a {b="x"} 1', { b: 'x' }, 1],
    ['a{b="x",c="y",} 2 1700000000', { b: 'x', c: 'y' }, 2],
    ['a{b="a } and \\" and , and \\\\"} -1.5e3', { b: 'a } and " and , and \\' }, -1500],
    ['a{b="two\\nlines"} +Inf', { b: 'two\nlines' }, Infinity],
    ['a{} .5 # {trace_id="x"} 1', {}, 0.5],
    ['a 7\r', {}, 7],
  ])('%j is read', (line, labels, value) => {
    expect(parseFamilies(line, new Set(['a'])).get('a')).toEqual([{ labels, value }]);
  });

  it.each([
    'a',
    'a{b="x" 1',
    'a{b="x"}',
    'a one',
    'a_created 1',
    'ab 1',
    '# a 1',
    ' a 1',
    'a{b=x} 1',
    'a 1e',
  ])('%j is not a sample of it', (line) => {
    expect(parseFamilies(line, new Set(['a'])).size).toBe(0);
  });
});

const g04 = caseFile('G04');
const g04Given = z.object({ model: z.string(), texts: z.record(z.string(), z.string()) }).parse(g04.given);
const loadSchema = z.object({
  running: z.number().nullable(),
  waiting: z.number().nullable(),
  cache: z.number().nullable(),
});
const g04Expect = z
  .object({ texts: z.record(z.string(), loadSchema), null_means: z.string() })
  .parse(g04.expect);

describe(`${g04.id} ${g04.title}`, () => {
  const load = (text: string): unknown => {
    const engine: Engine = text.includes('sglang:') ? 'sglang' : 'vllm';
    const read = readEngineLoad(engine, text, [g04Given.model]);
    return { running: read.running, waiting: read.waiting, cache: read.cacheUsage };
  };

  it.each(Object.entries(g04Given.texts))('%s', (name, text) => {
    expect(load(text)).toEqual(g04Expect.texts[name]);
  });

  it.each(Object.entries(g04Given.texts))('%s, its lines in any order and with CRLF', (name, text) => {
    const turned = text.trimEnd().split('\n').toReversed();
    expect(load(`${turned.join('\n')}\n`)).toEqual(g04Expect.texts[name]);
    expect(load(text.replaceAll('\n', '\r\n'))).toEqual(g04Expect.texts[name]);
  });

  it('a metric under a name of tomorrow is unknown, never zero', () => {
    for (const [name, text] of Object.entries(g04Given.texts)) {
      const renamed = text.replaceAll(/num_(?:requests_running|running_reqs)/g, 'active_sequences');
      expect([name, (load(renamed) as { running: unknown }).running]).toEqual([name, null]);
    }
  });
});
