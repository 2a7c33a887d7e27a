/**
 * What goes into the core and what comes out. Every event carries `atMs`, the host's clock; the core
 * reads no clock. Every effect names the proxy that has the turn, whichever proxy the event came from.
 */
import type { Api, Callers, Policy, ReplicaConfig } from '../../contracts/config-file.ts';
import type { RejectCode } from '../../contracts/error-codes.ts';
import type { ProxyId, ReplicaId, RunId, TurnId } from '../../contracts/ids.ts';
import type { ProxyMessage, ResyncRun, TurnOutcome, TurnSpec, Usage } from '../../contracts/link-protocol.ts';
import type { ServiceClass } from '../../contracts/service-class.ts';

type Resync = Extract<ProxyMessage, { type: 'resync' }>;

/** What an engine reports of itself; null is unknown, never zero. */
export interface EngineLoad {
  readonly running: number | null;
  readonly waiting: number | null;
  /** Used share of its KV memory, 0 to 1. */
  readonly cacheUsage: number | null;
  /** Tokens of KV memory that it has in all. */
  readonly capacityTokens: number | null;
  /** Contexts that it keeps apart at most, whatever their size (slots); null: it has no such number. */
  readonly capacityContexts: number | null;
}

/** What set the capacity last: nothing, the engine's report, a context that was gone, or one still there. */
export type CapacityReason = 'unlimited' | 'reported' | 'miss' | 'hit';

/** What a proxy reports; the same names and fields as on the link. */
export type ProxyEvent = { readonly atMs: number; readonly proxy: ProxyId } & (
  | { readonly type: 'turnArrived'; readonly spec: TurnSpec; readonly heldForMs: number }
  | { readonly type: 'turnAbandoned'; readonly turn: TurnId }
  | { readonly type: 'turnStarted'; readonly turn: TurnId }
  | { readonly type: 'turnsProgressed'; readonly turns: readonly TurnId[] }
  | {
      readonly type: 'turnFinished';
      readonly turn: TurnId;
      readonly outcome: TurnOutcome;
      readonly usage?: Usage | undefined;
      readonly cachedTokens?: number | undefined;
      readonly toolNames?: readonly string[] | undefined;
    }
  | { readonly type: 'runEnded'; readonly run: RunId }
  | {
      readonly type: 'proxyResynced';
      readonly runs: readonly ResyncRun[];
      readonly held: Resync['held'];
      readonly inFlight: Resync['inFlight'];
    }
  | { readonly type: 'proxyLost' }
);

export type SchedulerEvent =
  | ProxyEvent
  | {
      readonly type: 'replicaProbed';
      readonly atMs: number;
      readonly replica: ReplicaId;
      readonly healthy: boolean;
      /** Model names as the replica lists them; absent: not asked or not answered this time. */
      readonly models?: readonly string[] | undefined;
      /** APIs that it says it serves; null: it does not tell; absent: not asked this time. */
      readonly apis?: readonly Api[] | null | undefined;
      /** Absent: the engine did not say this time. */
      readonly load?: EngineLoad | undefined;
    }
  | {
      readonly type: 'poolChanged';
      readonly atMs: number;
      readonly replicas: readonly ReplicaConfig[];
      /** Absent: as before. */
      readonly policy?: Policy | undefined;
      readonly callers?: Callers | undefined;
    }
  /** From now on this scheduler decides, in the place of one with which so many proxies were linked. */
  | { readonly type: 'tookOver'; readonly atMs: number; readonly proxies: number | null }
  | { readonly type: 'ticked'; readonly atMs: number };

/** What happened, for metrics and logs. Never carries a run id. */
export type Recorded =
  | {
      readonly metric: 'admitted';
      readonly class: ServiceClass;
      readonly resumed: boolean;
      readonly replica: ReplicaId;
      readonly holdMs: number;
    }
  | { readonly metric: 'rejected'; readonly code: RejectCode }
  | { readonly metric: 'abandoned'; readonly class: ServiceClass; readonly holdMs: number }
  | { readonly metric: 'finished'; readonly class: ServiceClass; readonly outcome: TurnOutcome }
  | { readonly metric: 'dropped'; readonly reason: 'silent' | 'proxy_lost' | 'not_resynced' }
  | { readonly metric: 'run_forgotten'; readonly reason: 'idle' | 'too_many' }
  /** Whether a resumed turn of a resident run found its context in the engine's cache. */
  | { readonly metric: 'resumed_context'; readonly replica: ReplicaId; readonly found: boolean }
  /** The capacity of a replica is another one now. */
  | {
      readonly metric: 'capacity_changed';
      readonly replica: ReplicaId;
      readonly reason: Exclude<CapacityReason, 'unlimited'>;
    }
  /** A report about a turn that the proxy does not have, such as a late or a second one. */
  | { readonly metric: 'ignored'; readonly event: SchedulerEvent['type'] };

/** What is known of a turn at its end. */
export interface TurnReport {
  readonly outcome: TurnOutcome;
  readonly usage?: Usage | undefined;
  /** Prompt tokens that the engine found in its cache. */
  readonly cachedTokens?: number | undefined;
  readonly toolNames?: readonly string[] | undefined;
}

export type Effect =
  | { readonly type: 'admit'; readonly proxy: ProxyId; readonly turn: TurnId; readonly replica: ReplicaId }
  | { readonly type: 'reject'; readonly proxy: ProxyId; readonly turn: TurnId; readonly code: RejectCode }
  | { readonly type: 'abort'; readonly proxy: ProxyId; readonly turn: TurnId }
  | { readonly type: 'recorded'; readonly record: Recorded };
