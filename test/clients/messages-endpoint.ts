/**
 * A scripted model behind Anthropic's Messages API, for Claude Code itself and to stand in the pool as a
 * replica: `HEAD /`, `GET /health`, `GET /v1/models`, `POST /v1/messages` with and without streaming,
 * `POST /v1/messages/count_tokens`. What it answers is the script's to say; it keeps no conversation,
 * since each request carries its own.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { streamedReply, wholeReply } from './anthropic-stream.ts';
import type { Block } from './anthropic-stream.ts';
import { readText, sendJson, startLoopbackServer } from './loopback-server.ts';
import type { LoopbackServer } from './loopback-server.ts';
import { PromptCache } from './prompt-cache.ts';

const messagesRequestSchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  tools: z.array(z.looseObject({ name: z.string() })).default([]),
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(z.unknown())]) }),
  ),
});
export type MessagesRequest = z.infer<typeof messagesRequestSchema>;

export interface ToolUse {
  readonly id: string;
  readonly name: string;
  /** Text of its result; null while the request carries none. */
  readonly result: string | null;
  readonly failed: boolean;
}

const toolUseSchema = z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string() });
const toolResultSchema = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  is_error: z.boolean().default(false),
  /** Blocks of other kinds than text count as empty text. */
  content: z
    .union([
      z.string(),
      z
        .array(z.looseObject({ text: z.string().default('') }))
        .transform((blocks) => blocks.map(({ text }) => text).join('')),
    ])
    .default(''),
});

/** Every tool use of the conversation with its result, in order. */
export function toolUsesOf(request: MessagesRequest): ToolUse[] {
  const blocks = request.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const results = new Map(
    blocks.flatMap((block) => {
      const { data } = toolResultSchema.safeParse(block);
      return data === undefined ? [] : [[data.tool_use_id, data] as const];
    }),
  );
  return blocks.flatMap((block) => {
    const { data } = toolUseSchema.safeParse(block);
    if (data === undefined) return [];
    const result = results.get(data.id);
    return [
      { id: data.id, name: data.name, result: result?.content ?? null, failed: result?.is_error ?? false },
    ];
  });
}

export interface MessagesTurn {
  readonly request: MessagesRequest;
  readonly headers: IncomingHttpHeaders;
}

/** May take its time: the request is in flight until it resolves. */
export type MessagesScript = (turn: MessagesTurn) => readonly Block[] | Promise<readonly Block[]>;

/** @param models what `GET /v1/models` lists; any model is answered. */
export async function startMessagesEndpoint(
  models: readonly string[],
  script: MessagesScript,
): Promise<LoopbackServer> {
  let replies = 0;
  const cache = new PromptCache();
  return await startLoopbackServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://loopback').pathname;
    const route = `${request.method} ${path}`;
    if (route === 'HEAD /') {
      response.writeHead(200).end();
      return;
    }
    if (route === 'GET /health') {
      sendJson(response, 200, { status: 'ok' });
      return;
    }
    if (route === 'GET /v1/models') {
      const data = models.map((id) => ({ id, object: 'model', owned_by: 'script' }));
      sendJson(response, 200, { object: 'list', data });
      return;
    }
    const text = await readText(request);
    if (route === 'POST /v1/messages/count_tokens') {
      sendJson(response, 200, { input_tokens: Math.ceil(text.length / 4) });
      return;
    }
    if (route !== 'POST /v1/messages') {
      const error = { type: 'not_found_error', message: `${route} is not scripted` };
      sendJson(response, 404, { type: 'error', error });
      return;
    }
    const asked = messagesRequestSchema.parse(JSON.parse(text));
    replies += 1;
    const id = `msg_${replies}`;
    const { tokens, cachedTokens } = cache.read([asked['system'], asked.tools, ...asked.messages]);
    const blocks = await script({ request: asked, headers: request.headers });
    const reply = { id, model: asked.model, blocks, inputTokens: tokens, cachedTokens };
    if (!asked.stream) {
      sendJson(response, 200, wholeReply(reply));
      return;
    }
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
    });
    for (const event of streamedReply(reply)) response.write(event);
    response.end();
  });
}
