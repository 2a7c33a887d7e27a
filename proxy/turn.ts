/** A turn as its path knows it, from identification to report. */
import { responseHeaders } from '../contracts/headers.ts';
import type { ReplicaId, RunId, TurnId } from '../contracts/ids.ts';
import type { ServiceClass } from '../contracts/service-class.ts';
import type { TurnRequest } from './apis/api-descriptor.ts';
import type { ClientExchange } from './client-exchange.ts';
import type { IdentityHeaders } from './identity/identity-headers.ts';
import type { RunName } from './identity/scoped-run.ts';
import type { Decision } from './link/ticket.ts';
import type { Charge } from './rate-limits/rate-limiter.ts';
import type { ReplySink } from './reply-sink.ts';
import type { TurnRecord } from './turn-record.ts';

/** A request that is known: whose it is and what it asks for. */
export interface Turn {
  /** The same for all its attempts: by it the scheduler tries another replica. */
  readonly id: TurnId;
  readonly request: TurnRequest;
  readonly identity: IdentityHeaders;
  readonly class: ServiceClass;
  readonly run: RunId;
  /** What its client calls the run. */
  readonly runName: RunName;
  /** The replica its run is bound to; null when it may go anywhere. */
  readonly pinnedTo: ReplicaId | null;
  readonly arrivedAtMs: number;
  /** What it has taken of its caller's rate limits; null: there are none. */
  readonly charge: Charge | null;
}

/** Where the client is, and where the reply goes: the same but for replies that are translated. */
export interface Ends {
  readonly client: ClientExchange;
  readonly sink: ReplySink;
}

export type Admission = Extract<Decision, { kind: 'admitted' }>;

/** The headers of ours on a response of this status: name, value, … */
export function ownHeaders(turn: Turn, record: TurnRecord, status: number): string[] {
  const pairs = [
    responseHeaders.runId,
    turn.runName,
    responseHeaders.heldMs,
    String(Math.round(record.heldMs)),
  ];
  if (record.replica !== null) pairs.push(responseHeaders.replica, record.replica);
  if (turn.charge !== null) pairs.push(...turn.charge.headers);
  if (retriesUsed(record, status)) pairs.push(...noRetryHeader);
  return pairs;
}

/** The SDKs of OpenAI and Anthropic do not repeat a request whose reply says so. */
export const noRetryHeader = ['x-should-retry', 'false'] as const;

/** This proxy has repeated the request itself and it failed still: repeats of its client would multiply ours. */
export function retriesUsed(record: TurnRecord, status: number): boolean {
  return record.attempts > 1 && status >= 400;
}
