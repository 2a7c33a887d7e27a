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
import type { LiveTurns, TurnProgress } from '../live-turns.ts';
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
  /** Where it is told what the model writes; absent: nowhere. */
  readonly live?: LiveTurns;
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
  /**
   * Failures since an engine last began to answer, or the turn began: what the wait before the next try
   * grows with. Attempts that were lost with their worker are none of them.
   */
  readonly failuresInRow: number;
}

export function createModelTurn(deps: ModelTurnDeps): (input: ModelTurnInput) => Promise<ModelTurnResult> {
  return async (input) => {
    const info = activityInfo();
    let details = detailsOf(info.heartbeatDetails);
    const onBegun = (): void => {
      details = { ...details, failuresInRow: 0 };
    };
    try {
      return await withHeartbeat(
        { finishWithinMs: 0, details: () => details },
        async (signal) => await turn(deps, input, { signal, onBegun }),
      );
    } catch (error) {
      if (!(error instanceof ModelTurnError)) throw error;
      throw failureOf(error, details, deps.nowMs());
    }
  };
}

async function turn(
  deps: ModelTurnDeps,
  input: ModelTurnInput,
  { signal, onBegun }: { readonly signal: AbortSignal; readonly onBegun: () => void },
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
  const live = deps.live?.begin(runId, input.turn);
  const progress: TurnProgress = {
    begun(soFar) {
      onBegun();
      live?.progress.begun(soFar);
    },
    grew: () => live?.progress.grew(),
  };
  const answer = await deps.models.stream(request, signal, progress).finally(() => live?.end());
  const result = resultOf(answer, input, { tools, messages, validate: deps.validate });
  const sent = { messages, digest: input.transcript.digest };
  deps.transcripts.replied(runId, sent, result.message, result.calls);
  return result;
}

function resultOf(
  { reply, model, totalMs, heldMs, firstByteMs }: TurnReply,
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
    ...(firstByteMs === null ? {} : { firstByteMs }),
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

function failureOf(error: ModelTurnError, details: AttemptDetails, nowMs: number): ApplicationFailure {
  const failuresInRow = details.failuresInRow + 1;
  const { type, retry, delayMs, message } = classifyFailure(error.failure, failuresInRow, nowMs);
  const failures = details.boundedFailures + (retry === 'bounded' ? 1 : 0);
  const final = retry === 'never' || failures >= boundedTries;
  // The server keeps the last heartbeat's details for the next attempt.
  if (!final) heartbeat({ boundedFailures: failures, failuresInRow } satisfies AttemptDetails);
  return ApplicationFailure.create({
    message: final && retry === 'bounded' ? `${message} (${failures} tries)` : message,
    type,
    nonRetryable: final,
    ...(delayMs === null ? {} : { nextRetryDelay: Math.max(delayMs, shortestRetryMs) }),
  });
}

function detailsOf(details: unknown): AttemptDetails {
  const { boundedFailures, failuresInRow } = (details ?? {}) as Partial<AttemptDetails>;
  const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
  return { boundedFailures: count(boundedFailures), failuresInRow: count(failuresInRow) };
}
