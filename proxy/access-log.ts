/**
 * The access log: one JSON line for each request that a client made, however it ended, and its metrics with
 * it. A turn tells of itself on its way; here is how, and the lines of all that never becomes a turn:
 * other endpoints, and what is refused at the door, while stopping, or for want of an endpoint. Never a
 * body, a key or a token.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { errorCodes } from '../contracts/error-codes.ts';
import type { Fault } from './faults.ts';
import { readOwner } from './identity/identity-headers.ts';
import { parseRunName, scopedRun } from './identity/scoped-run.ts';
import type { ProxyContext } from './proxy-context.ts';
import { emptyRecord, type TurnRecord } from './turn-record.ts';

export type Told = Pick<ProxyContext, 'metrics' | 'logger'>;

/** What monitors ask all the time; only at level `debug`. */
const probes: ReadonlySet<string> = new Set(['metrics', 'healthz', 'readyz']);
/** Requests for what does not exist. */
const unknownApi = 'unknown';

/** The one line, and the metrics, of a request that has ended. */
export function tellOfRequest({ metrics, logger }: Told, record: TurnRecord, message: string): void {
  metrics.observe(record);
  record.heldMs = rounded(record.heldMs);
  record.totalMs = rounded(record.totalMs);
  if (record.firstByteMs !== null) record.firstByteMs = rounded(record.firstByteMs);
  if (probes.has(record.api)) logger.debug(record, message);
  else logger.info(record, message);
}

/** The line of what is no request that a route could see. */
export function tellOfMalformed(told: Told, fault: Fault): void {
  const record = emptyRecord(unknownApi);
  record.status = errorCodes[fault.code].status;
  record.reason = fault.message;
  tellOfRequest(told, record, 'request');
}

export interface AccessLog {
  /** Notes why a request that is no turn, or has not become one, is answered with a fault. */
  refused(request: FastifyRequest, reply: FastifyReply, reason: string): void;
}

/**
 * Must come before every other hook.
 * @param turnApis names of the endpoints that tell of themselves once their handler has been called, by path.
 */
export function addAccessLog(
  app: FastifyInstance,
  context: Told & Pick<ProxyContext, 'nowMs'>,
  turnApis: ReadonlyMap<string, string>,
): AccessLog {
  const records = new WeakMap<IncomingMessage, TurnRecord>();
  const watch = (request: FastifyRequest, reply: FastifyReply): TurnRecord => {
    const known = records.get(request.raw);
    if (known !== undefined) return known;
    const record = emptyRecord(apiOf(request, turnApis));
    records.set(request.raw, record);
    const arrivedAtMs = context.nowMs();
    // Comes once, whether all was written or the client left.
    reply.raw.once('close', () => {
      describe(record, request, reply);
      record.totalMs = context.nowMs() - arrivedAtMs;
      tellOfRequest(context, record, 'request');
    });
    return record;
  };
  app.addHook('onRequest', (request, reply, done) => {
    if (!turnApis.has(request.routeOptions.url ?? '')) watch(request, reply);
    done();
  });
  return {
    refused: (request, reply, reason) => {
      watch(request, reply).reason = reason;
    },
  };
}

function apiOf(request: FastifyRequest, turnApis: ReadonlyMap<string, string>): string {
  const { url } = request.routeOptions;
  if (url === undefined) return unknownApi;
  // The first word that tells: `/v1/runs/:id` is `runs`.
  return turnApis.get(url) ?? /^\/(?:v1\/)?([a-z]+)/.exec(url)?.[1] ?? unknownApi;
}

function describe(record: TurnRecord, request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = reply;
  const { id } = request.params as { id?: string };
  if (id !== undefined) record.runName = parseRunName(id);
  if (request.grant !== undefined) {
    const owner = readOwner(request.headers, request.grant);
    record.caller = owner.caller;
    if (record.runName !== null) record.run = scopedRun(owner, record.runName);
  }
  if (raw.headersSent) record.status = raw.statusCode;
  if (!raw.writableFinished) {
    record.outcome = 'abandoned';
    record.reason ??= 'the client left';
  } else if (record.reason === null) record.outcome = 'done';
}

/** Microseconds tell more than anyone needs. */
function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
