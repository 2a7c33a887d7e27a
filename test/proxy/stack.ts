/** Puts a real proxy between scripted engines and a scripted scheduler, and closes all of it again. */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import pino from 'pino';
import { openAccess, type Access } from '../../auth/access.ts';
import type { RateLimits } from '../../contracts/config-file.ts';
import { poolReplicaSchema, type OpenLocalLink, type PoolReplica } from '../../contracts/link-protocol.ts';
import { createProxy, type Proxy } from '../../proxy/create-proxy.ts';
import type { ProxyLimits } from '../../proxy/limits.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { closeAfterTest } from '../closing.ts';
import { startScriptedEngine, type ScriptedEngine } from './scripted-engine.ts';
import { startScriptedScheduler, type Rule, type ScriptedScheduler } from './scripted-scheduler.ts';

export interface Stack {
  readonly proxy: Proxy;
  readonly engine: ScriptedEngine;
  readonly engines: readonly ScriptedEngine[];
  readonly scheduler: ScriptedScheduler;
  /** The access log lines so far. */
  readonly log: readonly Record<string, unknown>[];
}

export { closeAfterTest };

export function replica(
  id: string,
  url: string,
  more: Partial<Record<keyof PoolReplica, unknown>> = {},
): PoolReplica {
  return poolReplicaSchema.parse({
    id,
    url,
    engine: 'none',
    kind: 'generative',
    models: ['m-test'],
    apis: ['chat'],
    healthy: true,
    ...more,
  });
}

export async function startStack(
  options: {
    engines?: number;
    pool?: (engines: readonly ScriptedEngine[]) => PoolReplica[];
    rule?: Rule;
    streamIdleMs?: number;
    rateLimits?: Readonly<Record<string, RateLimits>>;
    redisUrl?: string;
    access?: Access;
    telemetry?: Telemetry;
    limits?: Partial<ProxyLimits>;
    environment?: Record<string, string>;
  } = {},
): Promise<Stack> {
  const engines: ScriptedEngine[] = [];
  for (let index = 0; index < (options.engines ?? 1); index++) engines.push(await startScriptedEngine());
  for (const engine of engines) closeAfterTest(() => engine.close());
  const pool =
    options.pool?.(engines) ?? engines.map((engine, index) => replica(`engine-${index}`, engine.url));
  const scheduler = await startScriptedScheduler({
    pool,
    ...(options.rule === undefined ? {} : { rule: options.rule }),
    ...(options.streamIdleMs === undefined ? {} : { streamIdleMs: options.streamIdleMs }),
    rateLimits: options.rateLimits ?? {},
  });
  closeAfterTest(() => scheduler.close());
  const { proxy, log } = await startProxy(scheduler.url, options);
  await until(() => scheduler.of('resync').length > 0, 'the proxy is linked');
  const [engine] = engines;
  if (engine === undefined) throw new Error('a stack needs an engine');
  return { proxy, engine, engines, scheduler, log };
}

export async function startProxy(
  schedulerUrl: string,
  options: {
    redisUrl?: string;
    access?: Access;
    telemetry?: Telemetry;
    limits?: Partial<ProxyLimits>;
    environment?: Record<string, string>;
    openLink?: OpenLocalLink;
  } = {},
): Promise<{ proxy: Proxy; log: Record<string, unknown>[] }> {
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'info' },
    { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const proxy = await createProxy(
    {
      host: '127.0.0.1',
      port: 0,
      schedulerUrl,
      ...(options.openLink === undefined ? {} : { openLink: options.openLink }),
      redisUrl: options.redisUrl ?? null,
      limits: { drainMs: 0, lastBytesMs: 0, ...options.limits },
    },
    {
      logger,
      environment: options.environment ?? {},
      access: options.access ?? openAccess,
      telemetry: options.telemetry ?? null,
    },
  );
  closeAfterTest(() => proxy.close());
  return { proxy, log };
}

/** Awaits a condition, looking every few milliseconds; fails after `timeoutMs`. */
export async function until(condition: () => boolean, what: string, timeoutMs = 10_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

/** Awaits a value of one of the proxy's gauges. */
export async function untilGauge(
  proxy: { readonly url: string },
  name: string,
  value: number,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const text = await (await fetch(`${proxy.url}/metrics`)).text();
    if (text.split('\n').includes(`${name} ${value}`)) return;
    if (performance.now() > deadline) throw new Error(`waited in vain until ${name} is ${value}`);
  }
}

/** A client whose reply is seen chunk by chunk and which can leave at any time. */
export interface TestClient {
  readonly request: ClientRequest;
  /** Resolves with the head of the response; rejects when the connection closes before it. */
  readonly head: Promise<IncomingMessage>;
  readonly chunks: readonly Buffer[];
  readonly text: () => string;
  /** How the response ended, once it has. */
  readonly ended: () => 'whole' | 'cut' | null;
  leave(): void;
}

export function post(
  proxy: { readonly port: number },
  path: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
  pauseReading = false,
): TestClient {
  const chunks: Buffer[] = [];
  let ended: 'whole' | 'cut' | null = null;
  const request = httpRequest({
    host: '127.0.0.1',
    port: proxy.port,
    path,
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
  });
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', (response) => {
      resolve(response);
      response.once('error', () => {});
      response.once('close', () => {
        ended = response.complete ? 'whole' : 'cut';
      });
      if (pauseReading) return;
      response.on('data', (piece: Buffer) => chunks.push(piece));
    });
    request.on('error', (error) => {
      ended ??= 'cut';
      reject(error);
    });
  });
  head.catch(() => {});
  request.end(body);
  return {
    request,
    head,
    chunks,
    text: () => Buffer.concat(chunks).toString('utf8'),
    ended: () => ended,
    leave: () => {
      request.destroy();
    },
  };
}

export const chatPath = '/v1/chat/completions';

export function chatBody(more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    model: 'm-test',
    messages: [{ role: 'user', content: 'hello' }],
    ...more,
  });
}

/** Sends a chat request and reads its whole reply. */
export async function chat(
  proxy: { readonly port: number },
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
  timeoutMs = 10_000,
): Promise<{ status: number; headers: IncomingMessage['headers']; text: string; json: () => unknown }> {
  const client = post(proxy, chatPath, chatBody(more), headers);
  const head = await client.head;
  await until(() => client.ended() !== null, 'the reply has ended', timeoutMs);
  return {
    status: head.statusCode ?? 0,
    headers: head.headers,
    text: client.text(),
    json: () => JSON.parse(client.text()) as unknown,
  };
}

export function sse(...events: (Record<string, unknown> | string)[]): string {
  return events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('');
}

/** One chunk of a streamed chat completion. */
export function chunk(
  delta: Record<string, unknown>,
  finishReason: string | null = null,
): Record<string, unknown> {
  return {
    id: 'cmpl-t1',
    object: 'chat.completion.chunk',
    created: 1767225600,
    model: 'm-test',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  };
}

export const usageChunk = {
  id: 'cmpl-t1',
  object: 'chat.completion.chunk',
  created: 1767225600,
  model: 'm-test',
  choices: [],
  usage: { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 },
};
