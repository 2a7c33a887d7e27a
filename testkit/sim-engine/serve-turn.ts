/**
 * One request of any API from what its reader made of it to the last byte: choose a fault, hand the lengths
 * to the engine, write tokens as the engine produces them, and free the engine when the client leaves. A
 * request of several sequences ends when all have; the refusal of one refuses it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BadRequest, type ApiContext, type ApiRequest, type ReplyUsage } from './apis/api.ts';
import type { Fault } from './core/directives.ts';
import type { EngineOutput, RefusalReason } from './core/engine-state.ts';
import { blockHashes } from './core/tokens.ts';
import type { EngineDriver } from './engine-driver.ts';
import type { FaultPlan } from './fault-plan.ts';
import { createReplyStream, type ReplyGate, type ReplyStream } from './reply-stream.ts';
import { applyFault, refuse } from './refusals.ts';
import type { RequestLog, RequestRecord } from './request-log.ts';

export interface TurnSettings {
  readonly earlyHeaders: boolean;
  readonly queueFullStatus: 429 | 503;
}

export interface TurnParts {
  readonly context: ApiContext;
  readonly settings: TurnSettings;
  readonly driver: EngineDriver;
  readonly log: RequestLog;
  readonly faults: FaultPlan;
  /** A test's hold on this request; null: it passes. */
  readonly claimHold: (record: RequestRecord) => { onStream(stream: ReplyStream): void } | null;
}

/**
 * Serves one request; the record is ended in every case.
 * @throws BadRequest when the engine does not have the model, or not as many places as the request needs.
 */
export function serveTurn(
  request: ApiRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
  record: RequestRecord,
  parts: TurnParts,
): void {
  checkModel(request.model, parts.context);
  const { maxRunning, maxQueue } = parts.driver.state.config;
  if (request.sequences.length > maxRunning + maxQueue) {
    throw new BadRequest(400, `A batch may have at most ${maxRunning + maxQueue} parts.`);
  }
  const fault = parts.faults.choose(record, request.faults, request.turn, request.conversation);
  record.promptTokens = promptLength(request);
  if (fault !== null && fault.kind !== 'cut') {
    applyFault(fault, incoming, response, record, parts.log);
    if (fault.kind !== 'stall' || fault.stallMs === undefined) return;
  }
  const start = (): void => {
    startTurn({ request, fault, response, record, parts });
  };
  if (fault?.kind !== 'stall') start();
  else {
    const timer = setTimeout(start, fault.stallMs);
    response.once('close', () => {
      clearTimeout(timer);
    });
  }
}

/** @throws BadRequest when `model` is another than the engine's. */
export function checkModel(model: string | null, context: ApiContext): void {
  if (model === null || model === context.model) return;
  throw new BadRequest(404, `The model \`${model}\` does not exist.`);
}

interface Turn {
  readonly request: ApiRequest;
  readonly fault: Fault | null;
  readonly response: ServerResponse;
  readonly record: RequestRecord;
  readonly parts: TurnParts;
}

interface OpenTurn extends Turn {
  readonly stream: ReplyStream;
  readonly abort: () => void;
  /** Sequences that have not ended. */
  left: number;
  opened: boolean;
}

function startTurn(turn: Turn): void {
  const { request, response, record, parts } = turn;
  const { settings, driver, log } = parts;
  if (response.destroyed) {
    log.end(record, 'aborted');
    return;
  }
  const ids = request.sequences.map((_, index) => (index === 0 ? request.id : `${request.id}-${index}`));
  const abort = (): void => {
    for (const id of ids) driver.abort(id);
  };
  const hold = parts.claimHold(record);
  const stream = openStream(turn, hold !== null, abort);
  const open: OpenTurn = { ...turn, stream, abort, left: ids.length, opened: false };
  response.once('close', () => {
    if (record.endedAtMs !== null) return;
    log.end(record, 'aborted');
    abort();
  });
  record.phase = 'waiting';
  if (settings.earlyHeaders && request.stream) {
    response.writeHead(200, { 'content-type': eventStream });
    response.flushHeaders();
    if (request.writer.opensEarly) pushOpening(open);
  }
  log.changed();
  hold?.onStream(stream);
  for (const [index, { promptTokens, outputTokens }] of request.sequences.entries()) {
    if (record.endedAtMs !== null) return;
    const hashes = blockHashes([...promptTokens, ...outputTokens]);
    driver.submit(
      {
        id: ids[index] ?? request.id,
        promptTokens: promptTokens.length,
        outputTokens: outputTokens.length,
        blockHashes: hashes,
      },
      (output) => {
        onEngineOutput(output, index, open);
        log.changed();
      },
    );
  }
  log.changed();
}

const eventStream = 'text/event-stream; charset=utf-8';

function openStream(
  { request, fault, response, record, parts: { log } }: Turn,
  held: boolean,
  abort: () => void,
): ReplyStream {
  const cutAfter = request.stream ? Math.max(1, fault?.afterChunks ?? 2) : 1;
  const gate: ReplyGate = {
    permits: held ? 0 : Number.POSITIVE_INFINITY,
    cutAfter: fault?.kind === 'cut' ? cutAfter : null,
  };
  return createReplyStream({
    response,
    contentType: request.stream ? eventStream : 'application/json',
    gate,
    onEvent: () => {
      record.firstByteAtMs ??= Date.now();
      record.status = 200;
      record.phase = 'streaming';
      record.chunksSent += 1;
      log.changed();
    },
    onEnd: (how) => {
      log.end(record, how);
      abort();
    },
  });
}

function onEngineOutput(output: EngineOutput, sequence: number, turn: OpenTurn): void {
  const { request, record } = turn;
  switch (output.type) {
    case 'started':
      record.cachedTokens = (record.cachedTokens ?? 0) + output.cachedTokens;
      break;
    case 'token':
      record.completionTokens += 1;
      if (!request.stream) break;
      pushOpening(turn);
      pushAll(turn, request.writer.token(sequence, output.index));
      break;
    case 'finished':
      turn.left -= 1;
      if (request.stream) pushAll(turn, request.writer.sequenceEnd(sequence));
      if (turn.left === 0) finish(turn);
      break;
    case 'refused':
      refuseTurn(turn, output.reason);
      break;
    case 'preempted':
    case 'aborted':
      break;
    default:
      output satisfies never;
  }
}

function pushOpening(turn: OpenTurn): void {
  if (turn.opened) return;
  turn.opened = true;
  pushAll(turn, turn.request.writer.opening({ ...usageOf(turn), outputTokens: 0 }));
}

function pushAll({ stream }: OpenTurn, events: readonly string[]): void {
  for (const event of events) stream.push(event);
}

function usageOf({ request, record, parts }: Turn): ReplyUsage {
  return {
    promptTokens: promptLength(request),
    cachedTokens: parts.context.reportCachedTokens ? record.cachedTokens : null,
    outputTokens: record.completionTokens,
  };
}

function promptLength({ sequences }: ApiRequest): number {
  return sequences.reduce((sum, { promptTokens }) => sum + promptTokens.length, 0);
}

function finish(turn: OpenTurn): void {
  const { request, record, stream, fault } = turn;
  record.finishReason = request.finishReason;
  const usage = usageOf(turn);
  if (request.stream) pushAll(turn, request.writer.closing(usage));
  else {
    const body = JSON.stringify(request.writer.body(usage));
    const half = Math.floor(body.length / 2);
    if (fault?.kind === 'cut') pushAll(turn, [body.slice(0, half), body.slice(half)]);
    else stream.push(body);
  }
  stream.finish();
}

function refuseTurn({ request, response, record, parts, abort }: OpenTurn, reason: RefusalReason): void {
  const { settings, driver, log } = parts;
  const tooLong = reason === 'too-long';
  const limit = driver.state.config.maxContextTokens;
  const message = tooLong
    ? `This model's maximum context length is ${limit} tokens; ${promptLength(request)} prompt tokens and the reply do not fit.`
    : 'The engine queue is full.';
  refuse(response, record, log, tooLong ? 400 : settings.queueFullStatus, message, tooLong ? null : 1);
  abort();
}
