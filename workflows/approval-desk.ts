/**
 * Where the calls of a run wait for the user. Decisions come in by Update, which tells its caller what
 * became of it, or by signal, which cannot. Waiting sets no timer and runs nothing, so it costs nothing;
 * what waits and what was decided is in the run's state, which alone is asked when it goes on.
 */
import {
  ApplicationFailure,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import { approvalsQuery, approveSignal, decideApprovalUpdate } from '../contracts/run-names.ts';
import type { DecidedApproval, RunApprovals } from '../contracts/run.ts';
import { decide, decideBySignal, decisionOf, openApproval } from './approvals.ts';
import type { ApprovableCall, Approvals, DecisionOutcome } from './approvals.ts';

const decideUpdate = defineUpdate<DecidedApproval, [unknown]>(decideApprovalUpdate);
const approve = defineSignal<[unknown?]>(approveSignal);
const approvalsOf = defineQuery<RunApprovals>(approvalsQuery);

/** The approvals inside the state of the run. */
export interface ApprovalsHolder {
  readonly run: string;
  read(): Approvals;
  /** Keeps them and tells readers of them. */
  write(approvals: Approvals): void;
}

export interface ApprovalDesk {
  /**
   * Opens an approval of this call with these arguments and waits until it is decided, however long.
   * @returns whether it is allowed. @throws CancelledFailure when the run is cancelled.
   */
  ask(call: ApprovableCall): Promise<boolean>;
}

/** Takes decisions from now on. Two that come together are answered in their order: the second is refused. */
export function openApprovalDesk(holder: ApprovalsHolder): ApprovalDesk {
  const take = (decision: unknown): DecidedApproval => {
    const outcome = decide(holder.read(), decision);
    if (outcome.kind === 'refused') throw refusal(outcome);
    holder.write(outcome.approvals);
    return outcome.decided;
  };
  setHandler(decideUpdate, take, {
    description: 'Decides an open approval: {"id", "allow", "by"}',
    validator(decision) {
      const outcome = decide(holder.read(), decision);
      if (outcome.kind === 'refused') throw refusal(outcome);
    },
  });
  setHandler(approve, (payload) => holder.write(decideBySignal(holder.read(), payload)), {
    description: 'Allows the only open approval; {"id", "allow", "by"} says which, how and who',
  });
  setHandler(
    approvalsOf,
    () => {
      const { open, decided } = holder.read();
      return { open: [...open], decided: [...decided] };
    },
    { description: 'Open approvals, with their arguments in full, and the latest decisions' },
  );
  return {
    async ask(call) {
      const { approvals, id } = openApproval(holder.read(), holder.run, call);
      holder.write(approvals);
      await condition(() => decisionOf(holder.read(), id) !== null);
      return decisionOf(holder.read(), id)?.allow === true;
    },
  };
}

function refusal(outcome: Extract<DecisionOutcome, { kind: 'refused' }>): ApplicationFailure {
  const details = outcome.decided === null ? [] : [outcome.decided];
  return ApplicationFailure.nonRetryable(outcome.words, outcome.type, ...details);
}
