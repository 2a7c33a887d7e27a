/** What is told of one request afterwards: the access log line, and the source of the metrics. */
import type { Caller, ReplicaId, RunId, TurnId } from '../contracts/ids.ts';
import type { ServiceClass } from '../contracts/service-class.ts';
import type { RunName } from './identity/scoped-run.ts';

export type RequestOutcome =
  | 'paused'
  | 'done'
  | 'failed'
  | 'refused'
  /** The client left while its turn was held. */
  | 'abandoned'
  /** Answered by this proxy without an engine. */
  | 'rejected';

export interface TurnRecord {
  run: RunId | null;
  /** What its client calls the run. */
  runName: RunName | null;
  /** How the run was recognised. */
  runBy: string | null;
  turn: TurnId | null;
  /** Id of the W3C trace that it is in; null: of none. */
  trace: string | null;
  caller: Caller | null;
  /** null: the request was refused before it was known. */
  class: ServiceClass | null;
  model: string | null;
  replica: ReplicaId | null;
  readonly api: string;
  /** HTTP status sent; 0 when the client left before one was. */
  status: number;
  heldMs: number;
  /** Milliseconds from arrival to the engine's first byte. */
  firstByteMs: number | null;
  totalMs: number;
  tokensIn: number | null;
  cached: number | null;
  tokensOut: number | null;
  outcome: RequestOutcome;
  /** Engine attempts that were made. */
  attempts: number;
  /** Why it failed, in words; null when it did not. */
  reason: string | null;
}

export function emptyRecord(api: string): TurnRecord {
  return {
    run: null,
    runName: null,
    runBy: null,
    turn: null,
    trace: null,
    caller: null,
    class: null,
    model: null,
    replica: null,
    api,
    status: 0,
    heldMs: 0,
    firstByteMs: null,
    totalMs: 0,
    tokensIn: null,
    cached: null,
    tokensOut: null,
    outcome: 'rejected',
    attempts: 0,
    reason: null,
  };
}
