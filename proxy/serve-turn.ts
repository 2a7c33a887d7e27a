/**
 * The path of a turn, whole: identify → arrive → hold → admit → forward → report. The details are
 * elsewhere; what happens in which order is here. It decides neither where nor when a turn goes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admitted } from '../auth/grant.ts';
import type { ErrorCode } from '../contracts/error-codes.ts';
import type { ReplicaId, RunId } from '../contracts/ids.ts';
import type { TurnSpec } from '../contracts/link-protocol.ts';
import { parseTraceparent } from '../contracts/trace-context.ts';
import { tellOfRequest } from './access-log.ts';
import type { ApiDescriptor } from './apis/api-descriptor.ts';
import { ClientExchange } from './client-exchange.ts';
import { conclude, fail } from './conclude-turn.ts';
import { endRun } from './end-run.ts';
import type { Fault } from './faults.ts';
import { upstreamRequestHeaders } from './forward/hop-headers.ts';
import { Relay, type RelayResult } from './forward/relay.ts';
import { replicaCredentials, upstreamAddress } from './forward/upstream-target.ts';
import { GatheredReply } from './gathered-reply.ts';
import { identify } from './identify-turn.ts';
import { ownerKey } from './identity/scoped-run.ts';
import type { Decision, Ticket } from './link/ticket.ts';
import { firstAttempt, nextAttempt, type Attempt } from './next-attempt.ts';
import type { ProxyContext } from './proxy-context.ts';
import type { Charge } from './rate-limits/rate-limiter.ts';
import { spentOf } from './rate-limits/spent.ts';
import { refusalFault, unservedFault } from './refusal-fault.ts';
import type { ReplyFacts } from './reply/reply-facts.ts';
import { emptyRecord, type TurnRecord } from './turn-record.ts';
import { reasonOf, reportOf, upstreamErrorKind } from './turn-report.ts';
import { TurnTrace } from './turn-trace.ts';
import { ownHeaders, type Admission, type Ends, type Turn } from './turn.ts';

/** Serves one request from its first byte to its last; never rejects. */
export async function serveTurn(
  context: ProxyContext,
  api: ApiDescriptor,
  grant: Admitted,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const record = emptyRecord(api.name);
  const trace = context.telemetry === null ? null : new TurnTrace(context.telemetry, api.path, request);
  record.trace = trace?.traceId ?? traceIdOf(request);
  const arrivedAtMs = context.nowMs();
  const client = new ClientExchange(request, response, context.limits.clientStallMs);
  let ownRun: RunId | null = null;
  let ticket: Ticket | null = null;
  let charge: Charge | null = null;
  try {
    const turn = await identify(context, api, grant, request, arrivedAtMs, record);
    charge = turn.charge;
    if (turn.request.runState === 'own') ownRun = turn.run;
    const sink = turn.request.translate === null ? client : new GatheredReply(client);
    let attempt: Attempt | null = firstAttempt;
    while (attempt !== null) {
      ticket = arrive(context, turn, attempt, record);
      hold(client, ticket);
      const heldSinceMs = context.nowMs();
      const decision = await ticket.decision;
      const heldMs = context.nowMs() - heldSinceMs;
      admit(decision, heldMs, record);
      trace?.admitted(decision, heldMs, record);
      if (decision.kind === 'abandoned') return;
      if (decision.kind === 'refused') throw refusal(context, turn, decision.code);
      const result = await forward(context, turn, decision, ticket, { client, sink }, { record, trace });
      report(context, turn, ticket, result, record);
      attempt = nextAttempt(result, attempt, circumstances(context, turn, decision));
      if (attempt === null) conclude(turn, decision, { client, sink }, result, record);
    }
  } catch (error) {
    fail(context, client, error, record);
  } finally {
    // Whatever went wrong above, nothing stays held and no place stays taken.
    ticket?.abandon();
    charge?.settle();
    if (ownRun !== null) endRun(context, ownRun);
    record.totalMs = context.nowMs() - arrivedAtMs;
    if (response.headersSent) record.status = response.statusCode;
    trace?.ended(record);
    tellOfRequest(context, record, 'turn');
  }
}

function arrive(context: ProxyContext, turn: Turn, attempt: Attempt, record: TurnRecord): Ticket {
  const { identity, request } = turn;
  const { previousResponse } = request.conversation;
  const keeper =
    previousResponse === null
      ? null
      : context.memory.keeperOf(ownerKey(identity), previousResponse, context.nowMs());
  const spec: TurnSpec = {
    turn: turn.id,
    run: turn.run,
    class: turn.class,
    caller: identity.caller,
    model: request.model,
    api: request.api,
    promptTokens: request.conversation.promptTokens,
    maxTokens: request.maxTokens,
    prefix: request.conversation.prefix,
    ...(identity.turnNumber === null ? {} : { turnNumber: identity.turnNumber }),
    ...(previousResponse === null ? {} : { stored: { replica: keeper } }),
  };
  record.attempts = attempt.number;
  const heldForMs = attempt.number === 1 ? 0 : context.nowMs() - turn.arrivedAtMs;
  return context.turns.arrive(spec, heldForMs, attempt.delayMs);
}

/** From here on the turn only waits, so nothing is kept for it but what {@link serveTurn} itself needs. */
function hold(client: ClientExchange, ticket: Ticket): void {
  client.onGone(() => ticket.abandon());
}

/** Of a trace that the client is in, for the log; null: it is in none. */
function traceIdOf({ headers: { traceparent } }: IncomingMessage): string | null {
  return traceparent === undefined ? null : (parseTraceparent(traceparent)?.traceId ?? null);
}

function admit(decision: Decision, heldMs: number, record: TurnRecord): void {
  record.heldMs += heldMs;
  if (decision.kind === 'admitted') record.replica = decision.replica.id;
  if (decision.kind !== 'abandoned') return;
  record.outcome = 'abandoned';
  record.reason = 'the client left';
}

function refusal(context: ProxyContext, { request }: Turn, code: ErrorCode): Fault {
  return code === 'unknown_model'
    ? unservedFault(request, context.pool.replicas)
    : refusalFault(code, request.model);
}

async function forward(
  context: ProxyContext,
  turn: Turn,
  admission: Admission,
  ticket: Ticket,
  { client, sink }: Ends,
  { record, trace }: { readonly record: TurnRecord; readonly trace: TurnTrace | null },
): Promise<RelayResult> {
  const { replica } = admission;
  const { request } = turn;
  const credentials = replicaCredentials(replica, request.api, context.environment);
  const { upstreamPath } = request;
  const path = typeof upstreamPath === 'string' ? upstreamPath : upstreamPath(replica);
  const headers = upstreamRequestHeaders(client.request.rawHeaders, credentials);
  const relay = new Relay({
    agent: context.agent,
    client: sink,
    upstream: {
      ...upstreamAddress(replica, path, client.request.url),
      headers: trace === null ? headers : trace.carry(headers),
      body: request.bodyFor(replica),
    },
    ownHeaders(status) {
      return ownHeaders(turn, record, status);
    },
    withholdUsage: request.withholdUsage,
    readStream: request.streamReader,
    readBody: request.bodyReader,
    idleMs: context.pool.streamIdleMs,
    keepBack: isQueueFull,
    onFirstByte() {
      record.firstByteMs ??= context.nowMs() - turn.arrivedAtMs;
      ticket.started();
    },
    onByte() {
      ticket.progressed();
    },
    onFinishing: remembering(context, turn, replica.id),
  });
  ticket.onAbort((reason) => relay.abort(reason));
  relay.start();
  return await relay.done;
}

/** The engine's queue may have room in a moment; nothing else is kept from the client. */
function isQueueFull(status: number): boolean {
  return status === 503;
}

/**
 * Remembers the conversation as soon as its reply is known to be whole: a client may send its next turn
 * on the last bytes of this one.
 */
function remembering(context: ProxyContext, turn: Turn, replica: ReplicaId): (facts: ReplyFacts) => void {
  return (facts) => {
    if (turn.request.runState !== undefined || (facts.finishReason === null && !facts.closed)) return;
    const { whole } = turn.request.conversation;
    context.memory.remember(ownerKey(turn.identity), whole, facts, turn.run, context.nowMs(), replica);
  };
}

function report(
  context: ProxyContext,
  turn: Turn,
  ticket: Ticket,
  result: RelayResult,
  record: TurnRecord,
): void {
  const told = reportOf(result, turn.request.conversation.promptTokens);
  ticket.started();
  ticket.finished(told);
  turn.charge?.note(spentOf(result, told, turn.request.conversation.promptTokens));
  record.outcome = told.outcome;
  record.reason = reasonOf(result);
  record.tokensIn = told.usage?.promptTokens ?? null;
  record.tokensOut = told.usage?.completionTokens ?? null;
  record.cached = told.cachedTokens ?? null;
  const kind = upstreamErrorKind(result);
  if (kind !== null) context.metrics.upstreamError(kind);
}

function circumstances(
  context: ProxyContext,
  turn: Turn,
  admission: Admission,
): Parameters<typeof nextAttempt>[2] {
  const replica = admission.replica.id;
  return {
    pinned: turn.pinnedTo === replica || turn.request.repeatable === false,
    otherReplica: context.pool.hasOther(replica, turn.request.model, turn.request.api),
    queueFullRetries: context.limits.queueFullRetries,
    queueFullDelayMs: context.limits.queueFullDelayMs,
    queueFullMaxDelayMs: context.limits.queueFullMaxDelayMs,
    nowMs: Date.now(),
  };
}
