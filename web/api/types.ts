/**
 * What `/api` answers, as far as the page reads it. Types only; a test holds them against the schemas that
 * the server answers from.
 */
import type {
  DecidedApproval,
  PendingApproval,
  RunBudget,
  RunCounters,
  RunStatus,
} from '../../contracts/run.ts';
import type { RunStatusEntry, SchedulerStatus } from '../../contracts/scheduler-status.ts';
import type { ServiceClass } from '../../contracts/service-class.ts';
import type { ConfigView } from '../../contracts/config-status.ts';
import type { ToolListing } from '../../contracts/tool-listing.ts';

export type { DecidedApproval, PendingApproval, RunBudget, RunCounters, RunStatus, ServiceClass };
export type { ConfigView, ToolListing };

export interface Run {
  readonly handle: string;
  readonly status: RunStatus;
  readonly phase: string;
  /** Its first line. */
  readonly task: string;
  readonly model: string | null;
  readonly class: ServiceClass | null;
  readonly caller: string | null;
  readonly root: string;
  readonly parent: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly counters: RunCounters;
  readonly pendingApprovals: readonly PendingApproval[];
  readonly budget: RunBudget | null;
  readonly reason: string | null;
}

export interface Subtree {
  readonly runs: number;
  readonly atWork: number;
  readonly counters: RunCounters;
}

export interface ChildRun {
  readonly handle: string;
  readonly status: RunStatus;
  readonly phase: string;
  readonly task: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export interface RunDetail extends Run {
  readonly result: string | null;
  readonly cutAtMaxTokens: boolean;
  readonly partial: string | null;
  readonly decidedApprovals: readonly DecidedApproval[];
  readonly children: readonly ChildRun[];
  readonly subtree: Subtree;
}

export interface TreeRun extends Run {
  /** 1: the root. */
  readonly depth: number;
  readonly subtree: Subtree;
}

export interface RunTree {
  readonly root: string;
  readonly runs: readonly TreeRun[];
}

export interface RunPage {
  readonly runs: readonly Run[];
  readonly nextCursor: string | null;
}

export type Outcome = 'running' | 'ok' | 'failed' | 'cancelled';

interface SpanTimes {
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export interface TurnSpan extends SpanTimes {
  readonly kind: 'turn';
  readonly turn: number | null;
  readonly outcome: Outcome;
  readonly attempts: number;
  readonly model: string | null;
  readonly heldMs: number | null;
  readonly modelMs: number | null;
  /** From its admission to the first byte of its reply; null: not known. */
  readonly firstByteMs: number | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly cachedTokens: number | null;
  readonly calls: readonly string[];
}

export interface ToolSpan extends SpanTimes {
  readonly kind: 'tool';
  readonly tool: string;
  readonly callId: string | null;
  readonly outcome: Outcome;
  readonly attempts: number;
  readonly toolMs: number | null;
}

export interface ApprovalSpan extends SpanTimes {
  readonly kind: 'approval';
  readonly tools: readonly string[];
}

export type Span = TurnSpan | ToolSpan | ApprovalSpan;

export interface Timeline {
  readonly spans: readonly Span[];
  readonly earlierLeftOut: boolean;
}

export interface TranscriptEntry {
  readonly index: number;
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | null;
  readonly cutFromBytes: number | null;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly toolCallId: string | null;
  readonly images: readonly { readonly mimeType: string; readonly bytes: number }[];
}

export interface Transcript {
  readonly total: number;
  readonly entries: readonly TranscriptEntry[];
  readonly nextOffset: number | null;
}

export interface PoolNews {
  readonly replicas: readonly (Omit<SchedulerStatus['replicas'][number], 'url'> & {
    readonly url: string | null;
  })[];
  readonly held: readonly (Omit<SchedulerStatus['held'][number], 'caller'> & {
    readonly caller: string | null;
  })[];
  readonly runsByPhase: Readonly<Record<string, number>>;
  readonly proxies: number;
}
export type Replica = PoolNews['replicas'][number];

export interface Pool extends PoolNews {
  readonly runs: readonly RunStatusEntry[];
  readonly policy: SchedulerStatus['policy'];
}

export interface Me {
  readonly caller: string;
  readonly seesAll: boolean;
  readonly classCeiling: ServiceClass | null;
  readonly version: string;
  readonly temporalNamespace: string;
  /** Root of Temporal's own pages; null: not known. */
  readonly temporalUiUrl: string | null;
}

export interface RunChange {
  readonly change: 'started' | 'status' | 'phase' | 'progress' | 'ended';
  readonly at: string;
  readonly run: Run;
}

export interface ApprovalChange {
  readonly change: 'opened' | 'decided';
  readonly at: string;
  readonly handle: string;
  readonly root: string;
  readonly task: string;
  readonly opened: PendingApproval | null;
  readonly decided: DecidedApproval | null;
}

/** By the names of the events. */
export interface Events {
  readonly ready: { readonly missed: boolean };
  readonly run: RunChange;
  readonly approval: ApprovalChange;
  readonly pool: { readonly pool: PoolNews | null; readonly fault: string | null };
  readonly trouble: { readonly fault: string | null };
}

/** `GET /api/runs/{handle}/live`. */
export interface LiveAnswer {
  /** null: no turn is at work, or its worker cannot be asked. */
  readonly live: {
    readonly turn: number;
    readonly phase: 'asked' | 'writing';
    /** Where `text` begins in what it has written. */
    readonly offset: number;
    readonly text: string;
    readonly calls: readonly string[];
  } | null;
}
