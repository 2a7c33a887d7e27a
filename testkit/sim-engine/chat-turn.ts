/**
 * One chat completion from parsed request to last byte: plan the reply, choose a fault, hand the lengths to
 * the engine, write tokens as the engine produces them, and free the engine when the client leaves.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BadRequest, type ChatRequest } from './chat-request.ts';
import { pushEnd, pushToken, type Turn } from './chat-output.ts';
import { usageOf } from './chat-shapes.ts';
import { promptTokens, replyTokens } from './core/conversation.ts';
import type { Fault } from './core/directives.ts';
import type { EngineOutput } from './core/engine-state.ts';
import { firstTokenCandidates, type Candidate } from './core/first-token.ts';
import { hashText } from './core/random.ts';
import { planReply, type ReplyPlan, type ScriptOptions } from './core/script.ts';
import { blockHashes } from './core/tokens.ts';
import type { EngineDriver } from './engine-driver.ts';
import type { FaultPlan } from './fault-plan.ts';
import { createReplyStream, type ReplyGate, type ReplyStream } from './reply-stream.ts';
import { applyFault, refuse } from './refusals.ts';
import type { RequestLog, RequestRecord } from './request-log.ts';

export interface ChatSettings {
  readonly model: string;
  readonly script: ScriptOptions;
  readonly callIds: 'unique' | 'short';
  readonly earlyHeaders: boolean;
  readonly queueFullStatus: 429 | 503;
  readonly reportCachedTokens: boolean;
}

export interface ChatParts {
  readonly settings: ChatSettings;
  readonly driver: EngineDriver;
  readonly log: RequestLog;
  readonly faults: FaultPlan;
  /** Makes ids that no other request of any engine has. */
  readonly uniqueId: (prefix: string) => string;
  /** A test's hold on this request; null: it passes. */
  readonly claimHold: (record: RequestRecord) => { onStream(stream: ReplyStream): void } | null;
}

/** Serves one parsed chat request; the record is ended in every case. */
export function serveChat(
  request: ChatRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
  record: RequestRecord,
  parts: ChatParts,
): void {
  const { settings, log } = parts;
  if (request.model !== null && request.model !== settings.model) {
    throw new BadRequest(404, `The model \`${request.model}\` does not exist.`);
  }
  const candidates = candidatesOf(request, settings);
  const plan = withFirstToken(planReply(request.reply, settings.script), candidates, request);
  const prompt = promptTokens(request.reply.messages, request.reply.tools);
  const conversation = String(hashText(request.reply.messages.map((message) => message.text).join('\n')));
  const fault = parts.faults.choose(record, request.reply.directive.faults ?? [], plan.turn, conversation);
  record.promptTokens = prompt.length;
  if (fault !== null && fault.kind !== 'cut') {
    applyFault(fault, incoming, response, record, log);
    if (fault.kind !== 'stall' || fault.stallMs === undefined) return;
  }
  const start = (): void => {
    startTurn({ request, plan, candidates, prompt, fault, response, record, parts });
  };
  if (fault?.kind !== 'stall') start();
  else {
    const timer = setTimeout(start, fault.stallMs);
    response.once('close', () => {
      clearTimeout(timer);
    });
  }
}

interface StartOptions {
  readonly request: ChatRequest;
  readonly plan: ReplyPlan;
  readonly candidates: readonly Candidate[] | null;
  readonly prompt: readonly number[];
  readonly fault: Fault | null;
  readonly response: ServerResponse;
  readonly record: RequestRecord;
  readonly parts: ChatParts;
}

function startTurn(options: StartOptions): void {
  const { request, plan, candidates, prompt, fault, response, record, parts } = options;
  const { settings, driver, log } = parts;
  if (response.destroyed) {
    log.end(record, 'aborted');
    return;
  }
  const id = parts.uniqueId('chatcmpl-');
  const hold = parts.claimHold(record);
  const stream = openStream(id, hold !== null, options);
  response.once('close', () => {
    if (record.endedAtMs !== null) return;
    log.end(record, 'aborted');
    driver.abort(id);
  });
  const names = plan.calls.map((call) => call.name);
  const turn: Turn = {
    request,
    plan,
    head: { id, created: Math.floor(Date.now() / 1_000), model: settings.model },
    calls: names.map((name, index) => ({
      id: settings.callIds === 'short' ? `call_${index}` : parts.uniqueId('call_'),
      name,
    })),
    candidates,
    promptLength: prompt.length,
    stream,
    cut: fault?.kind === 'cut',
  };
  if (settings.earlyHeaders && request.stream) {
    response.writeHead(200, { 'content-type': eventStream });
    response.flushHeaders();
  }
  record.phase = 'waiting';
  log.changed();
  hold?.onStream(stream);
  const hashes = blockHashes([...prompt, ...replyTokens(plan.pieces, names)]);
  driver.submit(
    { id, promptTokens: prompt.length, outputTokens: plan.pieces.length, blockHashes: hashes },
    (output) => {
      onEngineOutput(output, turn, response, record, parts);
      log.changed();
    },
  );
  log.changed();
}

const eventStream = 'text/event-stream; charset=utf-8';

function openStream(
  id: string,
  held: boolean,
  { request, fault, response, record, parts: { log, driver } }: StartOptions,
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
      driver.abort(id);
    },
  });
}

function onEngineOutput(
  output: EngineOutput,
  turn: Turn,
  response: ServerResponse,
  record: RequestRecord,
  { settings, log, driver }: ChatParts,
): void {
  switch (output.type) {
    case 'started':
      record.cachedTokens = output.cachedTokens;
      break;
    case 'token':
      record.completionTokens = output.index + 1;
      pushToken(turn, output.index);
      break;
    case 'finished': {
      record.finishReason = turn.plan.finishReason;
      const usage = usageOf(
        turn.promptLength,
        turn.plan.pieces.length,
        settings.reportCachedTokens ? output.cachedTokens : null,
      );
      pushEnd(turn, usage);
      break;
    }
    case 'refused': {
      const tooLong = output.reason === 'too-long';
      const limit = driver.state.config.maxContextTokens;
      const message = tooLong
        ? `This model's maximum context length is ${limit} tokens; ${turn.promptLength} prompt tokens and the reply do not fit.`
        : 'The engine queue is full.';
      refuse(response, record, log, tooLong ? 400 : settings.queueFullStatus, message, tooLong ? null : 1);
      break;
    }
    case 'preempted':
    case 'aborted':
      break;
    default:
      output satisfies never;
  }
}

function candidatesOf(request: ChatRequest, settings: ChatSettings): readonly Candidate[] | null {
  if (request.topLogprobs === null || request.reply.maxTokens !== 1) return null;
  return firstTokenCandidates(request.reply.messages, request.reply.directive, settings.script.seed);
}

/** A reply of one token whose likelihood is asked for says its most likely candidate. */
function withFirstToken(
  plan: ReplyPlan,
  candidates: readonly Candidate[] | null,
  request: ChatRequest,
): ReplyPlan {
  const [best] = candidates ?? [];
  if (best === undefined || request.reply.tools.length > 0) return plan;
  return {
    ...plan,
    content: best.token,
    calls: [],
    pieces: [{ kind: 'text', text: best.token }],
    finishReason: 'length',
  };
}
