/** The data of one event as an engine of some API might write it: ordinary, odd, failed or broken. */
import type { Random } from './random.ts';

export type FuzzApi = 'chat' | 'completions' | 'responses' | 'messages';

type Json = Record<string, unknown>;

const words = [
  'Gr\u00fc\u00dfe',
  ' \u6771\u4eac',
  ' \ud83d\ude80',
  '"usage"',
  '\n\n',
  'data: x',
  '\u2028',
  '\u0000',
  '\ufeff',
];

export function randomText(random: Random): string {
  return Array.from({ length: 1 + random.below(4) }, () => random.pick(...(words as [string]))).join('');
}

const count = (random: Random): unknown => random.pick<unknown>(0, 1, 7, 4_096, 12, 3, null, -1, 1.5, '9');
const id = (random: Random): unknown =>
  random.pick<unknown>('call_0', 'call_1', 'c'.repeat(300), '', null, 7, undefined);
const name = (random: Random): unknown => random.pick<unknown>('read', 'list', 'n'.repeat(300), '', null, 7);

/** @returns JSON text, `[DONE]`, or what is no JSON at all. */
export function randomData(api: FuzzApi, random: Random): string {
  if (random.chance(0.05)) return random.pick('[DONE]', '[DONE]', '', '{"choices":', 'null', '[]', '[DONE] ');
  if (random.chance(0.03)) {
    const error = random.pick<unknown>({ message: 'x' }, 'x', '', null, [], 7);
    return JSON.stringify({ error, ...random.pick<Json>({}, { type: 'error' }, { object: 'error' }) });
  }
  return JSON.stringify(eventOf[api](random));
}

const eventOf: Record<FuzzApi, (random: Random) => Json> = {
  chat: (random) => choicesEvent(random, 'delta'),
  completions: (random) => choicesEvent(random, 'text'),
  responses: responsesEvent,
  messages: messagesEvent,
};

function openAiUsage(random: Random): unknown {
  return random.pick<unknown>(
    { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 },
    { prompt_tokens: count(random), completion_tokens: count(random) },
    {
      prompt_tokens: count(random),
      completion_tokens: count(random),
      prompt_tokens_details: random.pick<unknown>({ cached_tokens: count(random) }, null, {}),
      prompt_cache_hit_tokens: count(random),
      cached_tokens: count(random),
    },
    {
      input_tokens: count(random),
      output_tokens: count(random),
      input_tokens_details: { cached_tokens: count(random) },
    },
    {},
    null,
    5,
    [],
  );
}

function choicesEvent(random: Random, field: 'delta' | 'text'): Json {
  const kind = random.next();
  if (kind < 0.15) {
    const choices = random.pick<Json>({ choices: [] }, { choices: null }, {}, { choices: [null] });
    return { id: 'c', ...choices, usage: openAiUsage(random) };
  }
  if (kind < 0.2) {
    return {
      choices: [],
      ...random.pick<Json>(
        { timings: { cache_n: count(random), prompt_n: count(random), predicted_n: count(random) } },
        { meta_info: openAiUsage(random) },
        { x_groq: { usage: openAiUsage(random) } },
        { prompt_filter_results: [] },
      ),
    };
  }
  const choice: Json = {
    index: 0,
    finish_reason: random.chance(0.2)
      ? random.pick<unknown>('stop', 'tool_calls', 'length', '', 7, 'error', 'abort')
      : null,
    ...(random.chance(0.05) ? { usage: openAiUsage(random) } : {}),
    ...(random.chance(0.02) ? { error: random.pick<unknown>({ message: 'x' }, null) } : {}),
  };
  if (field === 'text') choice['text'] = random.pick<unknown>(randomText(random), '', null);
  else choice['delta'] = chatDelta(random);
  const event: Json = { id: 'c', choices: [choice, ...(random.chance(0.1) ? [{ delta: null }] : [])] };
  if (random.chance(0.1)) event['usage'] = openAiUsage(random);
  return event;
}

function chatDelta(random: Random): unknown {
  return random.pick<unknown>(
    { content: randomText(random) },
    { content: randomText(random) },
    { role: 'assistant', content: '' },
    { reasoning_content: randomText(random) },
    { reasoning: randomText(random), content: null },
    { content: [{ type: 'text', text: 'x' }] },
    { refusal: randomText(random) },
    { tool_calls: [{ index: 0, id: id(random), function: { name: name(random), arguments: '{' } }] },
    { tool_calls: [{ function: { arguments: randomText(random) } }, null, 5] },
    {
      tool_calls: Array.from({ length: 3 }, (_, n) => ({
        id: `t${n}${random.below(50)}`,
        function: { name: `f${n}` },
      })),
    },
    { tool_calls: [], content: 'x' },
    { function_call: { name: name(random) } },
    null,
    {},
  );
}

function responsesItem(random: Random): unknown {
  const type = random.pick<unknown>(
    'function_call',
    'custom_tool_call',
    'local_shell_call',
    'web_search_call',
    'mcp_approval_request',
    'message',
    'reasoning',
    'call_of_tomorrow_call',
    7,
  );
  return random.pick<unknown>(
    { type, id: 'i_1', call_id: id(random), name: name(random) },
    { type, id: id(random), name: name(random) },
    { type, call_id: id(random) },
    null,
  );
}

function responsesEvent(random: Random): Json {
  const status = random.pick<unknown>(
    'in_progress',
    'completed',
    'incomplete',
    'failed',
    'cancelled',
    'queued',
    null,
  );
  const response = random.pick<unknown>(
    {
      id: random.pick<unknown>('resp_1', 'resp_1', '', null),
      status,
      usage: openAiUsage(random),
      error: random.pick<unknown>(null, null, { message: 'x' }),
      output: random.pick<unknown>([], [responsesItem(random)], null),
      incomplete_details: random.pick<unknown>(null, { reason: 'max_output_tokens' }, { reason: 7 }),
    },
    {},
    null,
  );
  return random.pick<Json>(
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', usage: null } },
    {
      type: random.pick('response.output_item.added', 'response.output_item.done'),
      item: responsesItem(random),
    },
    { type: 'response.output_text.delta', delta: randomText(random) },
    { type: 'response.function_call_arguments.delta', delta: random.pick<unknown>('{', '', null) },
    { type: 'response.in_progress', response },
    random.chance(0.2)
      ? { type: random.pick('response.completed', 'response.incomplete', 'response.failed'), response }
      : { type: 'response.output_text.done', text: randomText(random) },
    { response, delta: 'x' },
    { type: 7, item: responsesItem(random) },
  );
}

function messagesUsage(random: Random): unknown {
  return random.pick<unknown>(
    { input_tokens: count(random), output_tokens: count(random) },
    { input_tokens: 5, cache_read_input_tokens: count(random), cache_creation_input_tokens: count(random) },
    { output_tokens: count(random) },
    null,
    5,
  );
}

function messagesBlock(random: Random): unknown {
  return random.pick<unknown>(
    { type: 'tool_use', id: id(random), name: name(random), input: {} },
    { type: 'text', text: '' },
    { type: 'server_tool_use', id: 's', name: 'web' },
    { type: 'thinking' },
    null,
  );
}

function messagesEvent(random: Random): Json {
  const reason = random.pick<unknown>('end_turn', 'tool_use', 'max_tokens', 'pause_turn', null, null, '', 7);
  return random.pick<Json>(
    { type: 'message_start', message: { content: [], stop_reason: null, usage: messagesUsage(random) } },
    {
      type: 'message_start',
      message: { content: [messagesBlock(random)], stop_reason: reason, usage: messagesUsage(random) },
    },
    { type: 'ping' },
    { type: 'content_block_start', content_block: messagesBlock(random) },
    { type: 'content_block_delta', delta: { type: 'text_delta', text: randomText(random) } },
    { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: random.pick('', 'hm') } },
    {
      type: 'content_block_delta',
      delta: { type: 'input_json_delta', partial_json: random.pick('', '{"a":') },
    },
    { type: 'content_block_stop', index: 0 },
    random.chance(0.3)
      ? { type: 'message_delta', delta: { stop_reason: reason }, usage: messagesUsage(random) }
      : { type: 'content_block_delta', delta: { type: 'signature_delta', signature: 's' } },
    random.chance(0.2) ? { type: 'message_stop' } : { type: 'ping' },
    { delta: { stop_reason: reason }, usage: messagesUsage(random) },
  );
}
