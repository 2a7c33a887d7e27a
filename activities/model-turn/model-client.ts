/**
 * Streams one model turn through the proxy with the `openai` package. It turns every failure into an
 * `UpstreamFailure`; what that means for the run is `classify-failure.ts`. It never retries: the
 * activity's own retries are the only ones, so that one failed turn is one request. The one thing it sends
 * again, changed, is a turn whose form its engine does not take (`engine-manners.ts`); and of several proxies
 * the next one is asked where one is away (`through-proxies.ts`).
 */
import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type OpenAI from 'openai';
import { APIConnectionError, APIError } from 'openai';
import { z } from 'zod';
import { Agent, fetch as undiciFetch } from 'undici';
import { AddressOrder, type Addresses } from '../../contracts/addresses.ts';
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import { readRefusal } from '../../contracts/engine-refusal.ts';
import { requestHeaders } from '../../contracts/headers.ts';
import type { ListedTool } from '../../contracts/tool-listing.ts';
import { engineSchema } from '../tool-calls/engine-schema.ts';
import { chatParams } from './chat-params.ts';
import { nameProxyDeath } from './proxy-death.ts';
import {
  causeText,
  connectionFailure,
  endRunAt,
  healthOf,
  listModels,
  type AskProxy,
} from './proxy-requests.ts';
import { createReplyCollector, type CollectedReply, type ReplyChunk } from './collect-reply.ts';
import { createEngineManners, type SentForm } from './engine-manners.ts';
import type { TurnProgress } from '../live-turns.ts';
import { ModelTurnError } from './model-turn-error.ts';
import { openAiClient, withToken, type ProxyDoor, type StreamWatch } from './openai-door.ts';
import { createPoolModels } from './pool-models.ts';
import { readEvents } from './reply-events.ts';
import { throughProxies } from './through-proxies.ts';

export interface TurnRequest {
  readonly runId: string;
  readonly turn: number;
  readonly class: string;
  readonly caller: string;
  readonly traceparent?: string | undefined;
  readonly model: string | null;
  readonly maxTokens: number;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ListedTool[];
}

export interface TurnReply {
  readonly reply: CollectedReply;
  /** The model that was asked. */
  readonly model: string;
  /** Milliseconds from sending the request to the end of the stream. */
  readonly totalMs: number;
  readonly heldMs: number;
  /** Milliseconds from its admission to the first part of the reply; null: it had none. */
  readonly firstByteMs: number | null;
}

export interface ModelClient {
  /** @throws ModelTurnError for every failure but an abort, which throws what the signal threw. */
  stream(request: TurnRequest, signal: AbortSignal, progress?: TurnProgress): Promise<TurnReply>;
  /** Tells the proxy that the run is over. @throws ModelTurnError */
  endRun(runId: string, signal: AbortSignal): Promise<void>;
  /** Whether `model` takes images; null: the pool cannot be asked. Never throws. */
  takesImages(model: string): Promise<boolean | null>;
  close(): Promise<void>;
}

/** UTF-16 units of one reply; a longer one is broken off. */
const longestReply = 1_000_000;
/** A proxy that takes no connection within this is away. */
const connectMs = 5_000;
/** Where another one is there to be asked. */
const connectOneOfSeveralMs = 1_000;
/** Above the proxy's own limit for a silent engine: it notices first and says why. */
const silentStreamMs = 660_000;

/**
 * @param addresses root of the proxy, without `/v1`; of several, the turns of a run go to the same one while it
 *   answers.
 * @param token what the services send to each other; null: nothing.
 */
export function createModelClient(
  addresses: Addresses,
  token: string | null = null,
  logger?: Logger,
): ModelClient {
  const proxies = new AddressOrder(addresses, () => performance.now());
  const timeout = proxies.all.length > 1 ? connectOneOfSeveralMs : connectMs;
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: silentStreamMs, connect: { timeout } });
  const ask: AskProxy = async (url, init) =>
    await undiciFetch(url, { ...init, headers: withToken(init.headers, token), dispatcher: agent });
  const pool = createPoolModels(
    async (signal) =>
      await throughProxies(proxies.inTurn(), proxies, async (url) => await listModels(ask, url, signal)),
  );
  const manners = createEngineManners({ pool, logger });
  return {
    async stream(request, signal, progress) {
      const sendTo = async (proxyUrl: string, form: SentForm): Promise<TurnReply> => {
        try {
          return await streamTurn({ proxyUrl, agent, token }, request, form, { signal, progress });
        } catch (error) {
          if (!(error instanceof ModelTurnError)) throw error;
          throw new ModelTurnError(await nameProxyDeath(error.failure, healthOf(ask, proxyUrl)));
        }
      };
      return await manners.send(
        request,
        async (form) =>
          await throughProxies(
            proxies.inTurn(request.runId),
            proxies,
            async (proxyUrl) => await sendTo(proxyUrl, form),
          ),
      );
    },
    takesImages: async (model) => await pool.takesImages(model),
    async endRun(runId, signal) {
      manners.forget(runId);
      await throughProxies(
        proxies.inTurn(runId),
        proxies,
        async (proxyUrl) => await endRunAt(ask, proxyUrl, { runId, signal }),
      );
    },
    close: async () => await agent.destroy(),
  };
}

async function streamTurn(
  door: ProxyDoor,
  request: TurnRequest,
  form: SentForm,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: TurnProgress | undefined },
): Promise<TurnReply> {
  const watch: StreamWatch = { body: null, heldMs: 0, errorBody: '' };
  const client = openAiClient(door, watch);
  const startedMs = performance.now();
  const headers = identity(request);
  try {
    const model = request.model ?? (await firstModel(client, signal));
    const body = completionBody(request, form, model);
    await client.chat.completions.create(body, { headers, signal }).asResponse();
    if (watch.body === null) throw brokenStream('the answer is no stream of events');
    const { reply, firstMs } = await readReply(watch.body, progress);
    signal.throwIfAborted();
    const totalMs = Math.round(performance.now() - startedMs);
    const heldMs = Math.min(watch.heldMs, totalMs);
    const firstByteMs = firstMs === null ? null : Math.max(0, Math.round(firstMs - startedMs) - heldMs);
    return { reply, model, totalMs, heldMs, firstByteMs };
  } catch (error) {
    if (signal.aborted || error instanceof ModelTurnError) throw error;
    throw describeError(error, watch);
  }
}

/** @throws ModelTurnError for a reply that is not complete or too long; what a broken connection threw. */
async function readReply(
  body: Readable,
  progress: TurnProgress | undefined,
): Promise<{ readonly reply: CollectedReply; readonly firstMs: number | null }> {
  const collector = createReplyCollector();
  let sawDone = false;
  let firstMs: number | null = null;
  await readEvents(body, (data) => {
    if (sawDone) return;
    if (data.trim() === '[DONE]') {
      sawDone = true;
      return;
    }
    const chunk = JSON.parse(data) as ReplyChunk & { readonly error?: object };
    if (chunk.error) throw new APIError(undefined, chunk.error, undefined, undefined);
    const size = collector.add(chunk);
    if (size > longestReply) throw replyTooLarge();
    if (firstMs !== null) progress?.grew();
    else if (size > 0) {
      // A first event may only name the role.
      firstMs = performance.now();
      progress?.begun(() => collector.reply());
    }
  });
  const reply = collector.reply();
  if (reply.finishReason !== null || sawDone) return { reply, firstMs };
  throw brokenStream('the stream ended before its reply was complete');
}

function identity(request: TurnRequest): Record<string, string> {
  return {
    [requestHeaders.runId[0]]: request.runId,
    [requestHeaders.turn[0]]: String(request.turn),
    [requestHeaders.serviceClass[0]]: request.class,
    [requestHeaders.caller[0]]: request.caller,
    ...(request.traceparent === undefined ? {} : { traceparent: request.traceparent }),
  };
}

function completionBody(
  request: TurnRequest,
  { messages, bridged }: SentForm,
  model: string,
): OpenAI.ChatCompletionCreateParamsStreaming {
  return {
    model,
    messages: chatParams(messages, bridged),
    stream: true,
    stream_options: { include_usage: true },
    ...(request.maxTokens > 0 ? { max_tokens: request.maxTokens } : {}),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map((tool) => ({
            type: 'function' as const,
            function: { name: tool.name, description: tool.description, parameters: parametersOf(tool) },
          })),
        }),
  };
}

/** Schemas as engines take them, for as long as the tool list that they belong to is kept. */
const engineSchemas = new WeakMap<ListedTool['inputSchema'], Record<string, unknown>>();

function parametersOf({ inputSchema }: ListedTool): Record<string, unknown> {
  const known = engineSchemas.get(inputSchema);
  if (known !== undefined) return known;
  const schema = { ...engineSchema(inputSchema) };
  engineSchemas.set(inputSchema, schema);
  return schema;
}

/** The pool's first model that can chat; whichever endpoint says nothing of what its models can is believed. */
async function firstModel(client: OpenAI, signal: AbortSignal): Promise<string> {
  const { data } = await client.models.list({ signal });
  const first = data.find((model) => {
    const pool = poolModelSchema.safeParse(model);
    return !pool.success || pool.data.fermata.replicas.some(({ apis }) => apis.includes('chat'));
  });
  if (first !== undefined) return first.id;
  const message = 'the pool offers no model that can chat; name one, or add a replica to the pool';
  throw new ModelTurnError({ kind: 'status', status: 503, code: null, message, headers: {}, refusal: null });
}

/** What the proxy adds to a listed model. */
const poolModelSchema = z.object({
  fermata: z.object({ replicas: z.array(z.object({ apis: z.array(z.string()) })) }),
});

function describeError(error: unknown, { body, errorBody }: StreamWatch): ModelTurnError {
  const answered = body !== null;
  if (error instanceof APIConnectionError)
    return answered ? brokenStream(causeText(error)) : connectionFailure(error);
  if (error instanceof APIError) {
    if (error.status === undefined) {
      // A proxy that stops cuts what lasts too long: another one takes it, and the engine is not to blame.
      if (error.code === 'draining') return drainedAmidReply(error.message);
      return brokenStream(`the engine reported an error in its stream: ${error.message}`);
    }
    const status = Number(error.status);
    const refusal = readRefusal(status, errorBody);
    return new ModelTurnError({
      kind: 'status',
      status,
      code: typeof error.code === 'string' ? error.code : null,
      message: refusal === null || refusal.message === '' ? error.message : `${status} ${refusal.message}`,
      refusal,
      headers: {
        retryAfterMs: error.headers?.get('retry-after-ms'),
        retryAfter: error.headers?.get('retry-after'),
      },
    });
  }
  return answered ? brokenStream(causeText(error)) : connectionFailure(error);
}

function drainedAmidReply(message: string): ModelTurnError {
  return new ModelTurnError({
    kind: 'status',
    status: 503,
    code: 'draining',
    message,
    headers: {},
    refusal: null,
  });
}

function brokenStream(message: string): ModelTurnError {
  return new ModelTurnError({ kind: 'broken-stream', message });
}

function replyTooLarge(): ModelTurnError {
  return new ModelTurnError({
    kind: 'too-large',
    message: `the model's reply is longer than the ${longestReply} characters a run can keep; set maxTokens`,
  });
}
