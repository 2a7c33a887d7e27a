/** The generative APIs as one thing that tests go through: a request, the next one of its run, a reply's facts. */
import type { SimEngine } from '../../../testkit/sim-engine/host.ts';
import { postTo } from './engine-client.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface AskOptions {
  readonly stream?: boolean;
  readonly maxTokens?: number;
}

export interface ReplyFacts {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly stop: string | null | undefined;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

export interface GenerativeApi {
  readonly name: string;
  readonly path: string;
  /** How its replies say that they ended by themselves, in calls, at the limit. */
  readonly stops: readonly [string, string | null, string];
  /** How its error bodies name a request that cannot be read. */
  readonly badRequest: Json;
  ask(text: string, options?: AskOptions): Json;
  /** `body` with the lookup tool offered; as it is for an API without tools. */
  withTool(body: Json): Json;
  /** What the client sends next: the reply, a result for each of its calls, and `more` when it made none. */
  next(body: Json, reply: unknown, more: string): Json;
  facts(reply: unknown): ReplyFacts;
}

const parameters = { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] };
const lookup = { name: 'lookup', description: 'Looks up.', parameters };

const model = 'sim-small';
const list = (value: unknown): Json[] => value as Json[];

interface ChatReply {
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null;
      readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
    };
    readonly text: string;
    readonly finish_reason: string;
  }[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

const openAiUsage = ({
  usage,
}: ChatReply): Pick<ReplyFacts, 'promptTokens' | 'cachedTokens' | 'outputTokens'> => ({
  promptTokens: usage.prompt_tokens,
  cachedTokens: usage.prompt_tokens_details.cached_tokens,
  outputTokens: usage.completion_tokens,
});

const chat: GenerativeApi = {
  name: 'chat',
  path: '/v1/chat/completions',
  stops: ['stop', 'tool_calls', 'length'],
  badRequest: { error: { type: 'BadRequestError', code: 400 } },
  ask: (content, { stream = false, maxTokens } = {}) => ({
    model,
    stream,
    ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
    messages: [{ role: 'user', content }],
  }),
  withTool: (body) => ({ ...body, tools: [{ type: 'function', function: lookup }] }),
  next(body, reply, more) {
    const [choice] = (reply as ChatReply).choices;
    const calls = choice?.message.tool_calls ?? [];
    const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: more }));
    const said = results.length > 0 ? results : [{ role: 'user', content: more }];
    return { ...body, messages: [...list(body['messages']), choice?.message, ...said] };
  },
  facts(reply) {
    const [choice] = (reply as ChatReply).choices;
    return {
      text: choice?.message.content ?? '',
      calls: (choice?.message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function })),
      stop: choice?.finish_reason,
      ...openAiUsage(reply as ChatReply),
    };
  },
};

const completions: GenerativeApi = {
  name: 'completions',
  path: '/v1/completions',
  stops: ['stop', null, 'length'],
  badRequest: chat.badRequest,
  ask: (prompt, { stream = false, maxTokens = 10_000 } = {}) => ({
    model,
    stream,
    prompt,
    max_tokens: maxTokens,
  }),
  withTool: (body) => body,
  next: (body, reply, more) => ({
    ...body,
    prompt: `${body['prompt'] as string}${completions.facts(reply).text} ${more}`,
  }),
  facts: (reply) => ({
    text: (reply as ChatReply).choices[0]?.text ?? '',
    calls: [],
    stop: (reply as ChatReply).choices[0]?.finish_reason,
    ...openAiUsage(reply as ChatReply),
  }),
};

interface ResponsesReply {
  readonly status: string;
  readonly output: readonly {
    readonly type: string;
    readonly content: readonly { readonly text: string }[];
    readonly call_id: string;
    readonly name: string;
    readonly arguments: string;
  }[];
  readonly usage: {
    readonly input_tokens: number;
    readonly input_tokens_details: { readonly cached_tokens: number };
    readonly output_tokens: number;
  };
}

const responses: GenerativeApi = {
  name: 'responses',
  path: '/v1/responses',
  stops: ['completed', 'completed', 'incomplete'],
  badRequest: chat.badRequest,
  ask: (content, { stream = false, maxTokens } = {}) => ({
    model,
    stream,
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
    input: [{ role: 'user', content }],
  }),
  withTool: (body) => ({ ...body, tools: [{ type: 'function', strict: false, ...lookup }] }),
  next(body, reply, more) {
    const { output } = reply as ResponsesReply;
    const calls = output.filter(({ type }) => type === 'function_call');
    const results = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: more }));
    const said = results.length > 0 ? results : [{ role: 'user', content: more }];
    return { ...body, input: [...list(body['input']), ...output, ...said] };
  },
  facts(reply) {
    const { output, status, usage } = reply as ResponsesReply;
    return {
      text: output.find(({ type }) => type === 'message')?.content[0]?.text ?? '',
      calls: output
        .filter(({ type }) => type === 'function_call')
        .map((call) => ({ id: call.call_id, name: call.name, arguments: call.arguments })),
      stop: status,
      promptTokens: usage.input_tokens,
      cachedTokens: usage.input_tokens_details.cached_tokens,
      outputTokens: usage.output_tokens,
    };
  },
};

interface MessagesReply {
  readonly content: readonly {
    readonly type: string;
    readonly text: string;
    readonly id: string;
    readonly name: string;
    readonly input: object;
  }[];
  readonly stop_reason: string;
  readonly usage: {
    readonly input_tokens: number;
    readonly cache_read_input_tokens: number;
    readonly output_tokens: number;
  };
}

const messages: GenerativeApi = {
  name: 'messages',
  path: '/v1/messages',
  stops: ['end_turn', 'tool_use', 'max_tokens'],
  badRequest: { type: 'error', error: { type: 'invalid_request_error' } },
  ask: (content, { stream = false, maxTokens = 30_000 } = {}) => ({
    model,
    stream,
    max_tokens: maxTokens,
    messages: [{ role: 'user', content }],
  }),
  withTool: (body) => ({
    ...body,
    tools: [{ name: lookup.name, description: lookup.description, input_schema: parameters }],
  }),
  next(body, reply, more) {
    const { content } = reply as MessagesReply;
    const uses = content.filter(({ type }) => type === 'tool_use');
    const results = uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: more }));
    const said = results.length > 0 ? results : more;
    return {
      ...body,
      messages: [...list(body['messages']), { role: 'assistant', content }, { role: 'user', content: said }],
    };
  },
  facts(reply) {
    const { content, stop_reason: stop, usage } = reply as MessagesReply;
    return {
      text: content.find(({ type }) => type === 'text')?.text ?? '',
      calls: content
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, name, input }) => ({ id, name, arguments: JSON.stringify(input) })),
      stop,
      promptTokens: usage.input_tokens + usage.cache_read_input_tokens,
      cachedTokens: usage.cache_read_input_tokens,
      outputTokens: usage.output_tokens,
    };
  },
};

export const generativeApis: readonly GenerativeApi[] = [chat, completions, responses, messages];
export const toolApis: readonly GenerativeApi[] = [chat, responses, messages];

/** The reply to a request that asked for no stream. */
export async function replyTo(engine: SimEngine, api: GenerativeApi, body: Json): Promise<unknown> {
  const response = await postTo(engine, api.path, body);
  const reply: unknown = await response.json();
  if (response.status !== 200) throw new Error(`${api.path}: ${response.status} ${JSON.stringify(reply)}`);
  return reply;
}
