/** Talks to a `run-tree` workflow as the mcp-server does, without it. */
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
  const send = async (update: string, argument: unknown): Promise<unknown> =>
    await client.workflow.executeUpdateWithStart(update, {
      args: [argument],
      startWorkflowOperation: new WithStartWorkflowOperation(workflowTypes.runTree, {
        workflowId: id,
        taskQueue,
        args: [{ root, state: null, idleMs: 60_000, ...over }],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    });
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
