/**
 * Decides a tool call that waits for the user. The run itself takes the decision, by Update: of several
 * that come together it accepts one and tells the others what was decided. Nothing is kept here.
 */
import { WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Handle } from '../../contracts/ids.ts';
import {
  approvalFailureTypes,
  decideApprovalUpdate,
  decidedApprovalSchema,
  isFinal,
  type ApprovalDecision,
  type DecidedApproval,
  type RunStatus,
} from '../../contracts/run.ts';
import type { Asker } from './asker.ts';
import { approvalLines, fitApprovals } from './approval-text.ts';
import { readApprovals } from './read-approvals.ts';
import type { RunReader } from './run-reader.ts';
import type { RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';
import { UserFault } from './user-fault.ts';

export interface ApproveRequest {
  readonly handle: Handle;
  readonly allow: boolean;
  /** null: the only open one. */
  readonly approvalId: string | null;
}

export interface ApproveOutcome {
  readonly handle: Handle;
  /** False: it had been decided before, and this answer changed nothing. */
  readonly accepted: boolean;
  /** What counts. */
  readonly decided: DecidedApproval;
  readonly status: RunStatus;
}

export interface ApproveDeps {
  readonly temporal: TemporalLink;
  readonly reader: RunReader;
}

/** @throws UserFault when there is nothing to decide, or too much to know what is meant. */
export async function approveRun(
  deps: ApproveDeps,
  { handle, allow, approvalId }: ApproveRequest,
  asker: Asker,
): Promise<ApproveOutcome> {
  const found = await deps.reader.find(handle, asker);
  if (found === null) throw await deps.reader.unknown(handle);
  const { view } = found;
  const id = approvalId?.trim() ?? onlyOpenId(view);
  if (isFinal(view.status) || id === null) return await findDecided(deps, view, id);
  try {
    const decision: ApprovalDecision = { id, allow, by: asker.caller };
    const decided = await deps.temporal.call((client) =>
      client.workflow.getHandle(handle).executeUpdate(decideApprovalUpdate, { args: [decision] }),
    );
    return { handle, accepted: true, decided: decidedApprovalSchema.parse(decided), status: view.status };
  } catch (error) {
    const now = (await deps.reader.find(handle, asker))?.view ?? view;
    const first = firstDecision(error);
    if (first !== null) return { handle, accepted: false, decided: first, status: now.status };
    if (isFinal(now.status)) return await findDecided(deps, now, id);
    throw refusal(error, now);
  }
}

/** null: none is open. */
function onlyOpenId({ handle, pendingApprovals }: RunView): string | null {
  const [only, ...others] = pendingApprovals;
  if (others.length === 0) return only?.id ?? null;
  const list = fitApprovals([pendingApprovals]).lists.flatMap(approvalLines).join('\n');
  throw new UserFault(
    'invalid',
    `${pendingApprovals.length} calls of ${handle} wait for approval; name one with approvalId:\n${list}`,
  );
}

function failureOf(error: unknown): ApplicationFailure | null {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  return cause instanceof ApplicationFailure ? cause : null;
}

/** The decision that came before the one that was refused; null: it was refused for another reason. */
function firstDecision(error: unknown): DecidedApproval | null {
  const failure = failureOf(error);
  if (failure?.type !== approvalFailureTypes.decided) return null;
  return decidedApprovalSchema.parse(failure.details?.[0]);
}

function isTimeout(error: unknown): boolean {
  return error instanceof WorkflowUpdateRPCTimeoutOrCancelledError;
}

function refusal(error: unknown, { handle }: RunView): unknown {
  const cause = { cause: error };
  // Temporal itself has just answered, so it is the worker that has not.
  if (isTimeout(error) || (error instanceof UserFault && isTimeout(error.cause))) {
    const words = `no worker answered for ${handle} in time, so it is not known whether the decision was taken; look at status in a moment and approve again if the call still waits (a decision counts once)`;
    return new UserFault('busy', words, cause);
  }
  const failure = failureOf(error);
  if (failure === null) return error;
  const kind = failure.type === approvalFailureTypes.unknown ? 'not-found' : 'invalid';
  return new UserFault(kind, `${handle}: ${failure.message}`, cause);
}

/** For a run in which nothing waits: the decision of `id`, or the latest one. */
async function findDecided(deps: ApproveDeps, view: RunView, id: string | null): Promise<ApproveOutcome> {
  const { handle, status, phase } = view;
  const pick = (decided: readonly DecidedApproval[]): DecidedApproval | undefined =>
    id === null ? decided.at(-1) : decided.find((one) => one.id === id);
  const last = pick(view.decidedApprovals) ?? pick((await readApprovals(deps.temporal, handle)).decided);
  if (last !== undefined) return { handle, accepted: false, decided: last, status };
  const standing = isFinal(status) ? `it has ended (${status})` : `it is ${status} (${phase})`;
  const asked = id === null ? '' : `, and no approval '${id.slice(0, 128)}' was decided in it`;
  throw new UserFault('conflict', `nothing waits for approval in ${handle}: ${standing}${asked}`);
}
