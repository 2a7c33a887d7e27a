/** One attempt of a turn at the scheduler, as the path of the turn sees it. */
import type { ErrorCode } from '../../contracts/error-codes.ts';
import type { TurnId } from '../../contracts/ids.ts';
import type { PoolReplica, TurnOutcome, Usage } from '../../contracts/link-protocol.ts';

export type Decision =
  | { readonly kind: 'admitted'; readonly replica: PoolReplica }
  | { readonly kind: 'refused'; readonly code: ErrorCode }
  /** Its own client left. */
  | { readonly kind: 'abandoned' };

/** Why an admitted turn must stop. */
export type AbortReason = Extract<ErrorCode, 'run_ended' | 'draining'>;

export interface TurnReport {
  readonly outcome: TurnOutcome;
  readonly usage?: Usage | null;
  readonly cachedTokens?: number | null;
  readonly toolNames?: readonly string[];
}

/** One attempt of a turn at the scheduler. Its methods may be called in any state, any number of times. */
export interface Ticket {
  readonly turn: TurnId;
  readonly decision: Promise<Decision>;
  /** The client left. */
  abandon(): void;
  /** First byte of the reply. */
  started(): void;
  /** A byte of the reply; cheap. */
  progressed(): void;
  finished(report: TurnReport): void;
  /** `stop` is called at most once, when the turn must end while it is in flight. */
  onAbort(stop: (reason: AbortReason) => void): void;
}

/** The ticket of a turn that is refused before the scheduler hears of it. */
export function refusedTicket(turn: TurnId, code: ErrorCode): Ticket {
  const nothing = (): void => {};
  return {
    turn,
    decision: Promise.resolve({ kind: 'refused', code }),
    abandon: nothing,
    started: nothing,
    progressed: nothing,
    finished: nothing,
    onAbort: nothing,
  };
}
