/**
 * A scripted engine behind OpenAI's Responses API, to stand in the pool as a replica: `GET /health`,
 * `GET /v1/models`, `POST /v1/responses` with and without streaming. What it answers is the script's to
 * say; it keeps no conversation, since each request carries its own.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { readText, sendJson, startLoopbackServer } from './loopback-server.ts';
import type { LoopbackServer } from './loopback-server.ts';
import { PromptCache } from './prompt-cache.ts';
import { streamedResponse, wholeResponse } from './responses-stream.ts';
import type { OutputItem } from './responses-stream.ts';

const responsesRequestSchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).default([]),
  input: z.union([z.string(), z.array(z.looseObject({ type: z.string().optional() }))]),
});
export type ResponsesRequest = z.infer<typeof responsesRequestSchema>;

const callSchema = z.looseObject({
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
});
const outputSchema = z.looseObject({
  type: z.literal('function_call_output'),
  call_id: z.string(),
  /** A text, or parts of which those without text count as empty. */
  output: z.union([
    z.string(),
    z
      .array(z.looseObject({ text: z.string().default('') }))
      .transform((parts) => parts.map(({ text }) => text).join('')),
  ]),
});

export interface FunctionCall {
  readonly id: string;
  readonly name: string;
  /** null while the request carries none. */
  readonly result: string | null;
}

/** Every function call of the conversation with its result, in order. */
export function functionCallsOf(request: ResponsesRequest): FunctionCall[] {
  const items = typeof request.input === 'string' ? [] : request.input;
  const results = new Map(
    items.flatMap((item) => {
      const { data } = outputSchema.safeParse(item);
      return data === undefined ? [] : [[data.call_id, data.output] as const];
    }),
  );
  return items.flatMap((item) => {
    const { data } = callSchema.safeParse(item);
    return data === undefined
      ? []
      : [{ id: data.call_id, name: data.name, result: results.get(data.call_id) ?? null }];
  });
}

export interface ResponsesTurn {
  readonly request: ResponsesRequest;
  readonly headers: IncomingHttpHeaders;
}

/** May take its time: the request is in flight until it resolves. */
export type ResponsesScript = (turn: ResponsesTurn) => readonly OutputItem[] | Promise<readonly OutputItem[]>;

export async function startResponsesEndpoint(
  model: string,
  script: ResponsesScript,
): Promise<LoopbackServer> {
  let replies = 0;
  const cache = new PromptCache();
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
    if (route !== 'POST /v1/responses') {
      sendJson(response, 404, { error: { message: `${route} is not scripted`, type: 'not_found_error' } });
      return;
    }
    const text = await readText(request);
    const asked = responsesRequestSchema.parse(JSON.parse(text));
    replies += 1;
    const id = `resp_${replies}`;
    const { tokens, cachedTokens } = cache.read([asked.tools, ...[asked.input].flat()]);
    const output = await script({ request: asked, headers: request.headers });
    const reply = { id, model: asked.model, output, inputTokens: tokens, cachedTokens };
    if (!asked.stream) {
      sendJson(response, 200, wholeResponse(reply));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    for (const event of streamedResponse(reply)) response.write(event);
    response.end();
  });
}
