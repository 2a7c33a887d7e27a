/**
 * Anthropic's `POST /v1/messages/count_tokens`. It generates nothing, so it is no turn: no admission, no
 * place taken, nothing kept of its run. It goes to the replica where its run is, whose tokenizer will read
 * the prompt, else to the healthy ones in turn. The engine's answer passes unchanged, whatever it is.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admitted } from '../../auth/grant.ts';
import { responseHeaders } from '../../contracts/headers.ts';
import type { Caller } from '../../contracts/ids.ts';
import type { PoolReplica } from '../../contracts/link-protocol.ts';
import { tellOfRequest } from '../access-log.ts';
import { ClientExchange } from '../client-exchange.ts';
import { fail } from '../conclude-turn.ts';
import { Fault } from '../faults.ts';
import { upstreamRequestHeaders } from '../forward/hop-headers.ts';
import { Relay, type RelayResult } from '../forward/relay.ts';
import { replicaCredentials, upstreamAddress } from '../forward/upstream-target.ts';
import { drawRunName } from '../identity/draw-ids.ts';
import { identifyRun } from '../identity/identify-run.ts';
import { readIdentityHeaders } from '../identity/identity-headers.ts';
import { messagesConversation } from '../identity/messages-conversation.ts';
import type { ProxyContext } from '../proxy-context.ts';
import { refusalFault, unservedFault } from '../refusal-fault.ts';
import { DialectBodyReader } from '../reply/dialect-body-reader.ts';
import { DialectStreamReader } from '../reply/dialect-stream-reader.ts';
import { messagesDialect } from '../reply/messages-replies.ts';
import { parseJsonObject, readBody } from '../request-body.ts';
import { emptyRecord, type TurnRecord } from '../turn-record.ts';
import { reasonOf, upstreamErrorKind } from '../turn-report.ts';
import { messagesPath, messagesRequestSchema } from './messages.ts';
import { parseFields } from './parse-fields.ts';

export const countTokensPath = `${messagesPath}/count_tokens`;
export const countTokensName = 'count_tokens';

/** More counts at once are refused with `overloaded`: nobody queues them. */
const maxAtOnce = 256;
/** An engine counts in milliseconds; one that sends nothing for this long is given up. */
const maxIdleMs = 30_000;
/** How long a count waits for the scheduler to tell the pool. */
const poolWaitMs = 5_000;
const retrySeconds = 1;

export type TokenCounter = (
  grant: Admitted,
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void>;

/** Serves one count from its first byte to its last; never rejects. */
export function createTokenCounter(context: ProxyContext): TokenCounter {
  let atOnce = 0;
  let counts = 0;
  return async (grant, request, response) => {
    const record = emptyRecord(countTokensName);
    const arrivedAtMs = context.nowMs();
    const client = new ClientExchange(request, response, context.limits.clientStallMs);
    atOnce += 1;
    counts += 1;
    try {
      if (atOnce > maxAtOnce)
        throw new Fault('overloaded', 'too many counts at once; try again', retrySeconds);
      const body = await readBody(request, context.limits.bodyBytes);
      const home = identify(context, grant, request, body, record);
      await takeRequest(context, record.caller);
      const [first, second] = await replicasFor(context, record.model, home, counts);
      let result = await forward(context, first, body, client, record);
      // Nothing was sent to the client and nothing was generated: another replica may as well answer.
      if (result.kind === 'unreachable' && second !== undefined) {
        result = await forward(context, second, body, client, record);
      }
      conclude(result, record);
    } catch (error) {
      fail(context, client, error, record);
    } finally {
      atOnce -= 1;
      record.totalMs = context.nowMs() - arrivedAtMs;
      if (response.headersSent) record.status = response.statusCode;
      tellOfRequest(context, record, 'token count');
    }
  };
}

/**
 * Notes what is known of the request.
 * @returns the replica of its run; null when it has none yet.
 */
function identify(
  context: ProxyContext,
  grant: Admitted,
  request: IncomingMessage,
  body: Buffer,
  record: TurnRecord,
): string | null {
  const identity = readIdentityHeaders(request.headers, grant);
  const fields = parseFields(messagesRequestSchema, parseJsonObject(body));
  record.caller = identity.caller;
  record.model = fields.model;
  const nowMs = context.nowMs();
  const { run, name, by } = identifyRun(
    identity,
    messagesConversation(fields),
    context.memory,
    drawRunName,
    nowMs,
  );
  if (by === 'new') return null;
  record.run = run;
  record.runName = name;
  record.runBy = by;
  return context.runs.report(run, nowMs)?.replica ?? null;
}

/** A count is a request of its caller; what it counts are no input tokens, no engine reads them. */
async function takeRequest(context: ProxyContext, caller: Caller | null): Promise<void> {
  const limits = caller === null ? null : context.pool.rateLimitsOf(caller);
  if (caller !== null && limits !== null) await context.limiter.take(caller, limits, 0);
}

/**
 * Where the count goes, and where to should that replica be gone.
 * @param counts so many have been served: they take turns.
 */
async function replicasFor(
  context: ProxyContext,
  model: string | null,
  home: string | null,
  counts: number,
): Promise<[PoolReplica, PoolReplica | undefined]> {
  if (!(await context.pool.whenKnown(poolWaitMs))) {
    throw new Fault('overloaded', 'the scheduler cannot be reached; try again', retrySeconds);
  }
  const speaking = context.pool.replicas.filter(({ apis }) => apis.includes('messages'));
  const serving = speaking.filter(({ models }) => model === null || models.includes(model));
  const healthy = serving.filter((replica) => replica.healthy);
  const first = healthy.find(({ id }) => id === home) ?? healthy[counts % healthy.length];
  if (first !== undefined) return [first, healthy.find((replica) => replica !== first)];
  const untold = speaking.some(({ models }) => models.length === 0);
  if (serving.length === 0 && !untold) throw unservedFault({ model, api: 'messages' }, context.pool.replicas);
  throw new Fault('overloaded', `no replica that serves '${model}' is healthy now; try again`, retrySeconds);
}

async function forward(
  context: ProxyContext,
  replica: PoolReplica,
  body: Buffer,
  client: ClientExchange,
  record: TurnRecord,
): Promise<RelayResult> {
  record.attempts += 1;
  record.replica = replica.id;
  const sinceMs = context.nowMs();
  const credentials = replicaCredentials(replica, 'messages', context.environment);
  const relay = new Relay({
    agent: context.agent,
    client,
    upstream: {
      ...upstreamAddress(replica, countTokensPath, client.request.url),
      headers: upstreamRequestHeaders(client.request.rawHeaders, credentials),
      body,
    },
    ownHeaders: () => [
      ...(record.runName === null ? [] : [responseHeaders.runId, record.runName]),
      responseHeaders.replica,
      replica.id,
      responseHeaders.heldMs,
      '0',
    ],
    withholdUsage: false,
    readStream: () => new DialectStreamReader(messagesDialect()),
    readBody: () => new DialectBodyReader(messagesDialect()),
    idleMs: Math.min(maxIdleMs, context.pool.streamIdleMs),
    keepBack: () => false,
    onFirstByte: () => {
      record.firstByteMs = context.nowMs() - sinceMs;
    },
    onByte: () => {},
    onFinishing: () => {},
  });
  relay.start();
  return await relay.done;
}

/** @throws Fault where the client has nothing yet. */
function conclude(result: RelayResult, record: TurnRecord): void {
  const kind = upstreamErrorKind(result);
  record.outcome = kind === null && result.kind === 'passed' ? 'done' : 'failed';
  record.reason = reasonOf(result);
  if (result.kind === 'unreachable') {
    throw new Fault('engine_unreachable', `engine ${record.replica}: ${result.message}`);
  }
  if (result.kind === 'idle') {
    throw new Fault('engine_idle', `engine ${record.replica}: sent nothing for too long`);
  }
  if (result.kind === 'aborted') throw refusalFault(result.reason, record.model);
}
