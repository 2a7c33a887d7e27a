/**
 * The way to the workflows that keep trees of runs. A tree is begun by the first message to it, or begun
 * again from what it ended with. Spawns into one tree that come while another is on its way travel
 * together: an Update costs about 100 ms, and Temporal takes ten of one workflow at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  WithStartWorkflowOperation,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type Client,
  type WorkflowStartOptions,
} from '@temporalio/client';
import {
  ApplicationFailure,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/common';
import type { Handle } from '../../contracts/ids.ts';
import {
  cancelSubtreeSignal,
  cancelSubtreeUpdate,
  searchAttributes,
  spawnChildrenUpdate,
  treeBusyFailure,
  treeWorkflowId,
  workflowTypes,
} from '../../contracts/run-names.ts';
import {
  cancelAnswerSchema,
  spawnAnswerSchema,
  treeStateSchema,
  type CancelAnswer,
  type CancelSubtree,
  type RunTreeInput,
  type SpawnAnswer,
  type SpawnChild,
  type TreeState,
} from '../../contracts/run-tree.ts';
import { pair } from './search-pair.ts';
import { SpawnQueue } from './spawn-queue.ts';
import { grpcStatusOf, type TemporalLink } from './temporal-link.ts';
import { UserFault } from './user-fault.ts';

export interface TreeClientOptions {
  readonly taskQueue: string;
  /** Milliseconds without a running run after which a tree's workflow ends. */
  readonly idleMs: number;
  /** Milliseconds that a message to a tree may take. */
  readonly limitMs: number;
}

const retryMs = 100;
const failedPrecondition = 9;
/** Milliseconds that a worker has to say how many runs a cancel reached. */
const cancelLimitMs = 5_000;

export class TreeClient {
  readonly #temporal: TemporalLink;
  readonly #options: TreeClientOptions;
  readonly #spawns: SpawnQueue;

  constructor(temporal: TemporalLink, options: TreeClientOptions) {
    this.#temporal = temporal;
    this.#options = options;
    this.#spawns = new SpawnQueue(async (root, requests) => {
      const update = updateWith(spawnChildrenUpdate, requests);
      const answer = await this.#send(root, options.limitMs, update);
      return spawnAnswerSchema.array().length(requests.length).parse(answer);
    });
  }

  /** @throws UserFault when no worker answered; the run may be started all the same. */
  async spawn(root: Handle, request: SpawnChild): Promise<SpawnAnswer> {
    return await this.#spawns.ask(root, request);
  }

  /**
   * @returns null when no worker answers: the cancel is stored then, and takes place when there is one.
   */
  async cancel(root: Handle, request: CancelSubtree): Promise<CancelAnswer | null> {
    const limitMs = Math.min(cancelLimitMs, this.#options.limitMs);
    try {
      return cancelAnswerSchema.parse(
        await this.#send(root, limitMs, updateWith(cancelSubtreeUpdate, request)),
      );
    } catch (error) {
      if (!(error instanceof NoWorker)) throw error;
      await this.#send(root, this.#options.limitMs, signalWith(cancelSubtreeSignal, request));
      return null;
    }
  }

  /** Sends until the message got through to an execution that takes it, or the time is up. */
  async #send(root: Handle, limitMs: number, send: SendWithStart): Promise<unknown> {
    return await this.#temporal.call(async (client) => {
      for (;;) {
        try {
          return await this.#sendOnce(client, root, send);
        } catch (error) {
          if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
            throw this.#noWorker(root, limitMs, error);
          }
          if (!isPassing(error)) throw error;
          await delay(retryMs);
        }
      }
    }, limitMs);
  }

  #noWorker(root: Handle, limitMs: number, cause: Error): NoWorker {
    return new NoWorker(
      `no worker answered for the tree of ${root} within ${limitMs / 1_000} s, so it is not known whether this was done; start a worker on the task queue '${this.#options.taskQueue}' or look at status in a moment, then try again`,
      { cause },
    );
  }

  async #sendOnce(client: Client, root: Handle, send: SendWithStart): Promise<unknown> {
    try {
      return await send(client, this.#start(root, null));
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    return await send(client, this.#start(root, await readLastState(client, root)));
  }

  /**
   * @param state null: only for a tree that never was or that is at work, so that two who find none at the
   * same time get the same one, and none begins anew without what it knew. Else what the execution before
   * ended with: it waited `idleMs` before its end, longer than this call takes, so there is no later one.
   */
  #start(root: Handle, state: TreeState | null): TreeStart {
    const { taskQueue, idleMs } = this.#options;
    return {
      taskQueue,
      workflowId: treeWorkflowId(root),
      args: [{ root, state, idleMs }],
      typedSearchAttributes: [pair(searchAttributes.root, root)],
      staticSummary: `tree of ${root}`,
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: state === null ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE',
    };
  }
}

type TreeStart = WorkflowStartOptions<(input: RunTreeInput) => Promise<TreeState>> & {
  workflowIdConflictPolicy: 'USE_EXISTING';
};
type SendWithStart = (client: Client, start: TreeStart) => Promise<unknown>;

function updateWith(update: string, argument: unknown): SendWithStart {
  return async (client, start) =>
    await client.workflow.executeUpdateWithStart(update, {
      args: [argument],
      startWorkflowOperation: new WithStartWorkflowOperation(workflowTypes.runTree, start),
    });
}

function signalWith(signal: string, argument: unknown): SendWithStart {
  return async (client, start) =>
    await client.workflow.signalWithStart(workflowTypes.runTree, {
      ...start,
      signal,
      signalArgs: [argument],
    });
}

/** Told to the user like every other fault, unless there is another way. */
class NoWorker extends UserFault {
  constructor(message: string, options: ErrorOptions) {
    super('busy', message, options);
  }
}

/** What the tree ended with. One that was ended by force has left nothing: its runs cannot be reached. */
async function readLastState(client: Client, root: Handle): Promise<TreeState> {
  const handle = client.workflow.getHandle(treeWorkflowId(root));
  const { status } = await handle.describe();
  // Somebody has begun it again: then any state will do, for it is not used.
  if (status.name === 'RUNNING') return treeStateSchema.parse({ root, runs: {} });
  if (status.name !== 'COMPLETED') {
    throw new UserFault(
      'conflict',
      `the tree of ${root} was ended in Temporal (${status.name.toLowerCase()}), so nothing can be started under it or cancelled as a tree; cancel its runs one by one`,
    );
  }
  return treeStateSchema.parse(await handle.result());
}

/** Whether the same message gets through in a moment: the execution that should take it has just ended. */
function isPassing(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true;
  // What Temporal says when the tree was just about to end, or to continue as new, as the message came.
  if (grpcStatusOf(error)?.code === failedPrecondition) return true;
  if (!(error instanceof WorkflowUpdateFailedError)) return false;
  const { cause } = error;
  return (
    cause instanceof ApplicationFailure &&
    (cause.type === treeBusyFailure || cause.type === 'AcceptedUpdateCompletedWorkflow')
  );
}
