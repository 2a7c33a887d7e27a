/**
 * Ends a run and all below it. The tree of the run does it, in order with the spawns into it, so that none
 * of them undoes the cancel; a root is asked by its id as well, at once and without a worker's help.
 */
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { Handle } from '../../contracts/ids.ts';
import { isFinal, type RunStatus } from '../../contracts/run.ts';
import type { Asker } from './asker.ts';
import type { RunReader } from './run-reader.ts';
import { grpcStatusOf, type TemporalLink } from './temporal-link.ts';
import type { TreeClient } from './tree-client.ts';

export interface CancelOutcome {
  readonly handle: Handle;
  /** Runs that were at work and were asked to end: the run itself and those below it. */
  readonly reached: number;
  /** Of the run, as it was when the request came. */
  readonly status: RunStatus;
  /** No worker answers: what is below the run is ended as soon as one does, and is not counted. */
  readonly later: boolean;
}

export interface CancelDeps {
  readonly temporal: TemporalLink;
  readonly reader: RunReader;
  readonly trees: TreeClient;
}

const notFound = 5;

/**
 * A run that has ended is closed all the same: what is below it ends, and nothing is started there again.
 * @param reason kept with the run, and told to all below it.
 * @throws UserFault for an unknown handle.
 */
export async function cancelRun(
  deps: CancelDeps,
  handle: Handle,
  reason: string | undefined,
  asker: Asker,
): Promise<CancelOutcome> {
  const found = await deps.reader.find(handle, asker);
  if (found === null) throw await deps.reader.unknown(handle);
  const { status, root } = found.view;
  const words = reason ?? 'cancelled by its caller';
  const atWork = !isFinal(status);
  const [itself, tree] = await Promise.all([
    root === handle && atWork ? cancelById(deps, handle, words) : false,
    deps.trees.cancel(root, { handle, reason: words }),
  ]);
  const later = tree === null;
  // Without a worker, or when its tree has forgotten it, a child is asked by its id.
  const byId = tree?.known !== true && root !== handle && atWork && (await cancelById(deps, handle, words));
  const reached = (tree?.reached ?? 0) + (itself || byId ? 1 : 0);
  if (reached > 0 || !atWork) return { handle, reached, status, later };
  // It ended between the look and the request.
  const now = await deps.reader.find(handle, asker);
  return { handle, reached, status: now?.view.status ?? status, later };
}

/** @returns whether it was at work. */
async function cancelById({ temporal }: CancelDeps, handle: Handle, reason: string): Promise<boolean> {
  try {
    await temporal.call(async (client) => {
      // The handle's own cancel() cannot carry a reason.
      await client.workflowService.requestCancelWorkflowExecution({
        namespace: client.options.namespace,
        identity: client.options.identity,
        requestId: randomUUID(),
        workflowExecution: { workflowId: handle },
        reason,
      });
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || grpcStatusOf(error)?.code === notFound) return false;
    throw error;
  }
}
