/**
 * The model turn activity: reads the transcript of its own workflow, streams one turn through the proxy
 * and hands back a checked reply. It decides only which failures are worth another try.
 */
import { activityInfo, ApplicationFailure, getClient, heartbeat } from '@temporalio/activity';
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import { toolsQuery, transcriptQuery } from '../../contracts/run.ts';
import type { ListedTool } from '../../contracts/tool-listing.ts';
import { textDigest, transcriptDigest } from '../../contracts/transcript-digest.ts';
import type { ModelTurnInput, ModelTurnResult } from '../activity-types.ts';
import { withHeartbeat } from '../heartbeat.ts';
import type { ValidateArguments } from '../tool-calls/validate-arguments.ts';
import type { WeightedCache } from '../weighted-cache.ts';
import { boundedTries, classifyFailure } from './classify-failure.ts';
import type { ModelClient, TurnReply } from './model-client.ts';
import { ModelTurnError } from './model-turn-error.ts';
import { readReply } from './read-reply.ts';
import type { TranscriptCache } from './transcript-cache.ts';

export interface ModelTurnDeps {
  readonly models: ModelClient;
  readonly transcripts: TranscriptCache;
  /** Tool lists by their digest. */
  readonly toolLists: WeightedCache<readonly ListedTool[]>;
  readonly validate: ValidateArguments;
  readonly nowMs: () => number;
}

/** Bytes of an activity's result; Temporal refuses more than 2 MB for good. */
const resultLimitBytes = 1_200_000;

/** `Retry-After: 0` is no invitation to spin. */
const shortestRetryMs = 100;

/** What an attempt leaves for the next one. */
interface AttemptDetails {
  /** Failures so far of the kind that is tried only a few times. */
  readonly boundedFailures: number;
}

export function createModelTurn(deps: ModelTurnDeps): (input: ModelTurnInput) => Promise<ModelTurnResult> {
  return async (input) => {
    const info = activityInfo();
    const { boundedFailures } = detailsOf(info.heartbeatDetails);
    const details: AttemptDetails = { boundedFailures };
    try {
      return await withHeartbeat(
        { finishWithinMs: 0, details },
        async (signal) => await turn(deps, input, signal),
      );
    } catch (error) {
      if (!(error instanceof ModelTurnError)) throw error;
      throw failureOf(error, { boundedFailures, attempt: info.attempt, nowMs: deps.nowMs() });
    }
  };
}

async function turn(
  deps: ModelTurnDeps,
  input: ModelTurnInput,
  signal: AbortSignal,
): Promise<ModelTurnResult> {
  const { workflowId: runId } = ownExecution();
  const [messages, tools] = await Promise.all([
    loadTranscript(deps, input),
    input.offerTools ? loadTools(deps, input.toolsDigest) : [],
  ]);
  const { class: serviceClass, caller, traceparent, model, maxTokens } = input;
  const request = {
    runId,
    turn: input.turn,
    class: serviceClass,
    caller,
    traceparent,
    model,
    maxTokens,
    messages,
    tools,
  };
  const answer = await deps.models.stream(request, signal);
  const result = resultOf(answer, input, { tools, messages, validate: deps.validate });
  const sent = { messages, digest: input.transcript.digest };
  deps.transcripts.replied(runId, sent, result.message, result.calls);
  return result;
}

function resultOf(
  { reply, model, totalMs, heldMs }: TurnReply,
  input: ModelTurnInput,
  context: { tools: readonly ListedTool[]; messages: readonly ChatMessage[]; validate: ValidateArguments },
): ModelTurnResult {
  const { tools, messages, validate } = context;
  const read = readReply(reply, {
    turn: input.turn,
    tools,
    transcript: messages,
    validate,
    ownCallIds: input.ownCallIds === true,
  });
  const result: ModelTurnResult = {
    ...read,
    finishReason: reply.finishReason,
    model,
    promptTokens: reply.promptTokens,
    completionTokens: reply.completionTokens,
    cachedTokens: reply.cachedTokens,
    modelMs: totalMs - heldMs,
    heldMs,
  };
  const bytes = Buffer.byteLength(JSON.stringify(result));
  if (bytes <= resultLimitBytes) return result;
  throw new ModelTurnError({
    kind: 'too-large',
    message: `the model's reply is ${bytes} bytes, more than the ${resultLimitBytes} a run can keep of one reply; set maxTokens`,
  });
}

async function loadTranscript(deps: ModelTurnDeps, input: ModelTurnInput): Promise<readonly ChatMessage[]> {
  const { workflowId, runId } = ownExecution();
  const { length, digest } = input.transcript;
  const cached = deps.transcripts.find(workflowId, input.transcript);
  if (cached !== null) return cached;
  const messages = await getClient()
    .workflow.getHandle(workflowId, runId)
    .query<ChatMessage[], [number]>(transcriptQuery, length);
  if (transcriptDigest(messages) === digest) return messages;
  throw ApplicationFailure.nonRetryable('the transcript changed while a turn was due', 'TranscriptChanged');
}

async function loadTools(deps: ModelTurnDeps, digest: string): Promise<readonly ListedTool[]> {
  const { workflowId, runId } = ownExecution();
  const cached = deps.toolLists.get(digest);
  if (cached !== undefined) return cached;
  const tools = await getClient().workflow.getHandle(workflowId, runId).query<ListedTool[]>(toolsQuery);
  const text = JSON.stringify(tools);
  if (textDigest(text) === digest) deps.toolLists.set(digest, tools, text.length);
  return tools;
}

function ownExecution(): { readonly workflowId: string; readonly runId: string } {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) throw new Error('a model turn runs inside a workflow only');
  return workflowExecution;
}

function failureOf(
  error: ModelTurnError,
  { boundedFailures, attempt, nowMs }: { boundedFailures: number; attempt: number; nowMs: number },
): ApplicationFailure {
  const { type, retry, delayMs, message } = classifyFailure(error.failure, attempt, nowMs);
  const failures = retry === 'bounded' ? boundedFailures + 1 : boundedFailures;
  const final = retry === 'never' || failures >= boundedTries;
  // The server keeps the last heartbeat's details for the next attempt.
  if (!final && retry === 'bounded') heartbeat({ boundedFailures: failures } satisfies AttemptDetails);
  return ApplicationFailure.create({
    message: final && retry === 'bounded' ? `${message} (${failures} tries)` : message,
    type,
    nonRetryable: final,
    ...(delayMs === null ? {} : { nextRetryDelay: Math.max(delayMs, shortestRetryMs) }),
  });
}

function detailsOf(details: unknown): AttemptDetails {
  const failures = (details as Partial<AttemptDetails> | null | undefined)?.boundedFailures;
  return { boundedFailures: typeof failures === 'number' ? failures : 0 };
}
