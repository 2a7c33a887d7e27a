/**
 * A scripted engine behind OpenAI's chat completions, to stand in the pool as a replica: `GET /health`,
 * `GET /v1/models`, `POST /v1/chat/completions`, streaming only. What it answers is the script's to say.
 */
import { z } from 'zod';
import { readText, sendJson, startLoopbackServer } from './loopback-server.ts';
import type { LoopbackServer } from './loopback-server.ts';

const chatRequestSchema = z.looseObject({
  model: z.string(),
  stream: z.literal(true),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).optional(),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).default([]),
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
});
export type ChatRequest = z.infer<typeof chatRequestSchema>;

export type ChatReply =
  | { readonly text: string }
  | { readonly tools: readonly { readonly id: string; readonly name: string; readonly input: object }[] };

const callsSchema = z.looseObject({
  role: z.literal('assistant'),
  tool_calls: z.array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string() }) })),
});
const toolResultSchema = z.looseObject({
  role: z.literal('tool'),
  tool_call_id: z.string(),
  content: z.union([
    z.string(),
    z
      .array(z.looseObject({ text: z.string().default('') }))
      .transform((parts) => parts.map(({ text }) => text).join('')),
  ]),
});

/** Every tool call of the conversation with its result, null where it carries none, in order. */
export function toolCallsOf({ messages }: ChatRequest): { name: string; result: string | null }[] {
  const results = new Map(
    messages.flatMap((message) => {
      const { data } = toolResultSchema.safeParse(message);
      return data === undefined ? [] : [[data.tool_call_id, data.content] as const];
    }),
  );
  return messages.flatMap((message) =>
    (callsSchema.safeParse(message).data?.tool_calls ?? []).map(({ id, function: { name } }) => ({
      name,
      result: results.get(id) ?? null,
    })),
  );
}

export interface ChatTurn {
  readonly request: ChatRequest;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** May take its time: the request is in flight until it resolves. */
export type ChatScript = (turn: ChatTurn) => ChatReply | Promise<ChatReply>;

interface Chunk {
  readonly choices: readonly object[];
  readonly usage?: object;
}

function chunksOf(reply: ChatReply, promptTokens: number): readonly Chunk[] {
  const choice = (delta: object, finish: string | null = null): Chunk => ({
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  const start = choice({ role: 'assistant', content: 'text' in reply ? '' : null });
  if ('text' in reply) {
    const words = reply.text.split(/(?<= )/).map((word) => choice({ content: word }));
    return [start, ...words, choice({}, 'stop'), usageChunk(promptTokens, words.length)];
  }
  const call = (index: number, fields: object): Chunk => choice({ tool_calls: [{ index, ...fields }] });
  return [
    start,
    ...reply.tools.flatMap(({ id, name, input }, index) => [
      call(index, { id, type: 'function', function: { name, arguments: '' } }),
      call(index, { function: { arguments: JSON.stringify(input) } }),
    ]),
    choice({}, 'tool_calls'),
    usageChunk(promptTokens, 16),
  ];
}

function usageChunk(promptTokens: number, completionTokens: number): Chunk {
  return {
    choices: [],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  };
}

export async function startChatEndpoint(model: string, script: ChatScript): Promise<LoopbackServer> {
  let replies = 0;
  return await startLoopbackServer(async (request, response) => {
    const route = `${request.method} ${request.url}`;
    if (route === 'GET /health') {
      sendJson(response, 200, { status: 'ok' });
      return;
    }
    if (route === 'GET /v1/models') {
      sendJson(response, 200, { object: 'list', data: [{ id: model, object: 'model', owned_by: 'script' }] });
      return;
    }
    if (route !== 'POST /v1/chat/completions') {
      sendJson(response, 404, { error: { message: `${route} is not scripted`, type: 'not_found_error' } });
      return;
    }
    const text = await readText(request);
    const asked = chatRequestSchema.parse(JSON.parse(text));
    replies += 1;
    const head = {
      id: `chatcmpl-${replies}`,
      object: 'chat.completion.chunk',
      created: 0,
      model: asked.model,
    };
    const reply = await script({ request: asked, headers: request.headers });
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    for (const chunk of chunksOf(reply, Math.ceil(text.length / 4))) {
      if (chunk.usage !== undefined && asked.stream_options?.include_usage !== true) continue;
      response.write(`data: ${JSON.stringify({ ...head, ...chunk })}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  });
}
