/**
 * What the workflows hand to the activities and get back. Types only: the workflows import this file as
 * types, so nothing of an activity's code reaches them. No input carries a transcript or tool schemas;
 * a model turn reads both by query from its own workflow.
 */
import type { AssistantMessage, ToolImage } from '../contracts/chat-messages.ts';
import type { DescribedRun } from '../contracts/run-tree.ts';
import type { ServiceClass } from '../contracts/service-class.ts';
import type { ToolListing } from '../contracts/tool-listing.ts';

/** Names one exact transcript of the run. */
export interface TranscriptReference {
  /** Number of messages. */
  readonly length: number;
  /** `transcriptDigest` of them. */
  readonly digest: string;
}

export interface ModelTurnInput {
  /** Counts from 1; kept by every retry of the turn. */
  readonly turn: number;
  /** null: the first model that the pool offers. */
  readonly model: string | null;
  readonly class: ServiceClass;
  readonly caller: string;
  readonly traceparent?: string;
  /** Tokens of the reply; 0: the engine decides. */
  readonly maxTokens: number;
  /** False once the tool budget is used up: the model must answer. */
  readonly offerTools: boolean;
  readonly transcript: TranscriptReference;
  /** `textDigest` of the JSON of the run's tools. */
  readonly toolsDigest: string;
  /** Calls get ids of the run's own: the engine's may have been used in a reply that was left out since. */
  readonly ownCallIds?: boolean;
}

/** Why a call is answered with an error instead of being run. */
export interface CallRefusal {
  readonly kind: 'unknown-tool' | 'bad-arguments' | 'cut-off';
  /** What the model reads; begins with `Error: `. */
  readonly text: string;
}

/** One tool call of a reply, ready to be run or refused. */
export interface TurnCall {
  /** Unique in the run. */
  readonly id: string;
  /** A name of the run's tool list, unless it is refused as unknown. */
  readonly name: string;
  /** JSON text of the arguments as the tool gets them; absent: those of the message. */
  readonly arguments?: string;
  readonly refusal?: CallRefusal;
}

export interface ModelTurnResult {
  /** Appended to the transcript as it is. */
  readonly message: AssistantMessage;
  readonly calls: readonly TurnCall[];
  /** As the engine said it; null when it only said that the stream is complete. */
  readonly finishReason: string | null;
  /** The model that answered. */
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  /** Milliseconds at the engine, without the time it was held. */
  readonly modelMs: number;
  readonly heldMs: number;
  /** Of `modelMs`, until the first part of the reply; absent: not measured. */
  readonly firstByteMs?: number;
}

export interface CallToolInput {
  readonly callId: string;
  /** The model that gets the result: images are kept only for one that takes them. */
  readonly model: string | null;
  readonly server: string;
  /** The server's own name of the tool. */
  readonly serverTool: string;
  /** JSON text of an object. */
  readonly arguments: string;
  /** Attempts in all; 1: the call must never be repeated. */
  readonly attempts: number;
  /** W3C trace context for the tool server. Set by the worker itself, never by a workflow. */
  readonly traceparent?: string;
}

export interface CallToolResult {
  /** What the model reads. */
  readonly content: string;
  /** Beside it, for a model that takes images; absent: none. */
  readonly images?: readonly ToolImage[];
  /** The tool said that it failed, or it could not be asked. */
  readonly failed: boolean;
  readonly toolMs: number;
}

/** The activities of fermata's workers. */
export interface RunActivities {
  modelTurn(input: ModelTurnInput): Promise<ModelTurnResult>;
  callTool(input: CallToolInput): Promise<CallToolResult>;
  /** @param names only these; null: all. Unknown names become warnings. */
  listTools(names: readonly string[] | null): Promise<ToolListing>;
  reportRunEnded(runId: string): Promise<void>;
  /** How runs stand in Temporal, in their order. */
  describeRuns(handles: readonly string[]): Promise<DescribedRun[]>;
}
