/** Talks to a `run-tree` workflow as the mcp-server does, without it. */
import { setTimeout as delay } from 'node:timers/promises';
import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import {
  runInputSchema,
  spawnChildrenUpdate,
  cancelSubtreeUpdate,
  treeQuery,
  treeWorkflowId,
  workflowTypes,
} from '../../contracts/run.ts';
import {
  cancelAnswerSchema,
  spawnAnswerSchema,
  treeStateSchema,
  type CancelAnswer,
  type RunTreeInput,
  type SpawnAnswer,
  type TreeState,
} from '../../contracts/run-tree.ts';
import { newHandle } from './run-stack.ts';

export interface SpawnWish {
  readonly handle?: string;
  readonly parent: string;
  readonly maxRunning?: number;
  readonly requestHash?: string;
  readonly input: Record<string, unknown>;
}

export interface TestTree {
  readonly id: string;
  /** One message with all wishes. */
  spawnAll(
    wishes: readonly SpawnWish[],
  ): Promise<{ readonly handle: string; readonly answer: SpawnAnswer }[]>;
  cancel(handle: string, reason?: string): Promise<CancelAnswer>;
  state(): Promise<TreeState>;
}

export function openTree(
  client: Client,
  taskQueue: string,
  root: string,
  over: Partial<RunTreeInput> = {},
): TestTree {
  const id = treeWorkflowId(root);
  const sendOnce = async (update: string, argument: unknown): Promise<unknown> =>
    await client.workflow.executeUpdateWithStart(update, {
      args: [argument],
      startWorkflowOperation: new WithStartWorkflowOperation(workflowTypes.runTree, {
        workflowId: id,
        taskQueue,
        args: [{ root, state: null, idleMs: 60_000, ...over }],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    });
  // A tree that is about to continue as new refuses a message, or loses it to the end of its execution.
  const send = async (update: string, argument: unknown): Promise<unknown> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await sendOnce(update, argument);
      } catch (error) {
        if (tries === 50) throw error;
        await delay(100);
      }
    }
  };
  return {
    id,
    async spawnAll(wishes) {
      const requests = wishes.map(
        ({ handle = newHandle(), parent, maxRunning = 100, requestHash, input }) => ({
          handle,
          parent,
          requestHash: requestHash ?? JSON.stringify(input),
          maxRunning,
          input: runInputSchema.parse({ caller: 'tests', ...input }),
        }),
      );
      const answers = spawnAnswerSchema.array().parse(await send(spawnChildrenUpdate, requests));
      return requests.map(({ handle }, index) => {
        const answer = answers[index];
        if (answer === undefined) throw new Error('an answer is missing');
        return { handle, answer };
      });
    },
    cancel: async (handle, reason = 'no longer wanted') =>
      cancelAnswerSchema.parse(await send(cancelSubtreeUpdate, { handle, reason })),
    state: async () => treeStateSchema.parse(await client.workflow.getHandle(id).query(treeQuery)),
  };
}
