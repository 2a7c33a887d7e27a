/**
 * The engine of the overhead bench, a process of its own: constant and cheap, so that what is measured is
 * the gateway. It reads a request, sends the first chunk at once and then one chunk each gap until it has
 * sent `max_tokens` of them. Each chunk's text is the moment it was sent, by the machine's monotonic clock.
 * It generates nothing, queues nothing and refuses nothing. `GET /state` tells how many it has in hand.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { listen } from '../../testkit/listen.ts';
import { clockMs } from './clock.ts';
import { chunkGapMs, engineModels } from './engine-models.ts';

const requestSchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  max_tokens: z.int().min(1).nullish(),
  /** What SGLang's router makes of `max_tokens`. */
  max_completion_tokens: z.int().min(1).nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().default(false) }).nullish(),
});

let inHand = 0;
let served = 0;

function head(model: string, object: string): string {
  return `{"id":"chatcmpl-bench","object":"${object}","created":1700000000,"model":${JSON.stringify(model)}`;
}

function chunk(model: string, content: string, finish: 'stop' | null): string {
  const delta = content === '' ? '{}' : `{"role":"assistant","content":"${content}"}`;
  return `data: ${head(model, 'chat.completion.chunk')},"choices":[{"index":0,"delta":${delta},"finish_reason":${finish === null ? 'null' : `"${finish}"`}}]}\n\n`;
}

function usage(tokens: number): string {
  return `{"prompt_tokens":1000,"completion_tokens":${tokens},"total_tokens":${1000 + tokens}}`;
}

async function stream(
  response: ServerResponse,
  model: string,
  tokens: number,
  withUsage: boolean,
): Promise<void> {
  const gapMs = chunkGapMs(model);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (let sent = 0; sent < tokens; sent += 1) {
    if (sent > 0) await (gapMs === 0 ? nextTurn() : sleep(gapMs));
    if (response.destroyed) return;
    response.write(chunk(model, clockMs().toFixed(4), null));
  }
  const told = withUsage
    ? `data: ${head(model, 'chat.completion.chunk')},"choices":[],"usage":${usage(tokens)}}\n\n`
    : '';
  response.end(`${chunk(model, '', 'stop')}${told}data: [DONE]\n\n`);
}

async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const parsed = requestSchema.safeParse(JSON.parse(Buffer.concat(pieces).toString('utf8')));
  if (!parsed.success) {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: parsed.error.message } }));
    return;
  }
  const { model, stream_options: options } = parsed.data;
  const tokens = parsed.data.max_completion_tokens ?? parsed.data.max_tokens ?? 1;
  served += 1;
  if (parsed.data.stream) {
    await stream(response, model, tokens, options?.include_usage === true);
    return;
  }
  const text = clockMs().toFixed(4);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(
    `${head(model, 'chat.completion')},"choices":[{"index":0,"message":{"role":"assistant","content":"${text}"},"finish_reason":"stop"}],"usage":${usage(tokens)}}`,
  );
}

const modelList = JSON.stringify({
  object: 'list',
  data: engineModels.map((id) => ({ id, object: 'model', created: 1_700_000_000, owned_by: 'bench' })),
});

/** What probes of the gateways ask for. */
function answerProbe(path: string): string | null {
  switch (path) {
    case '/health':
    case '/health_generate':
      return '{}';
    case '/v1/models':
      return modelList;
    case '/get_model_info':
      return JSON.stringify({ model_path: engineModels[0], is_generation: true });
    case '/get_server_info':
    case '/server_info':
      return JSON.stringify({ model_path: engineModels[0], served_model_name: engineModels[0], tp_size: 1 });
    case '/metrics':
      return `vllm:num_requests_running ${inHand}\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0.1\n`;
    case '/state':
      return JSON.stringify({ inHand, served });
    default:
      return null;
  }
}

const server = createServer({ noDelay: true, keepAliveTimeout: 65_000 }, (request, response) => {
  const path = (request.url ?? '').split('?')[0] ?? '';
  if (request.method === 'POST' && path === '/v1/chat/completions') {
    inHand += 1;
    response.once('close', () => {
      inHand -= 1;
    });
    complete(request, response).catch(() => response.destroy());
    return;
  }
  const answer = answerProbe(path);
  response.writeHead(answer === null ? 404 : 200, {
    'content-type': path === '/metrics' ? 'text/plain' : 'application/json',
  });
  response.end(answer ?? '{"error":{"message":"no such endpoint"}}');
});

const port = await listen(server, '127.0.0.1', 0);
process.stdout.write(`engine is ready at http://127.0.0.1:${port}\n`);
process.once('SIGTERM', () => process.exit(0));
