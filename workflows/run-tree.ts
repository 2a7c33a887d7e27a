/**
 * The tree of one root: starts the runs below it and ends subtrees, one message after the other, so that
 * no spawn slips past a cancel. It exists from the first child or the first cancel on, ends when nothing
 * has been at work for a while, with its state as result, and is begun again from that state by whoever
 * needs it next (`mcp-server/runs/tree-client.ts`). What it decides is in `run-tree/`, pure.
 */
import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  makeContinueAsNewFunc,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  cancelSubtreeSignal,
  cancelSubtreeUpdate,
  handlePattern,
  spawnChildrenUpdate,
  treeBusyFailure,
  treeQuery,
} from '../contracts/run-names.ts';
import type {
  CancelAnswer,
  CancelSubtree,
  RunTreeInput,
  SpawnAnswer,
  SpawnChild,
  TreeState,
} from '../contracts/run-tree.ts';
import { budgetReportSignal } from './budget/messages.ts';
import type { BudgetReport } from './budget/messages.ts';
import { cancelReason } from './cancel-reason.ts';
import { TreeChildren } from './run-tree/children.ts';
import { describeTree } from './run-tree/describe-tree.ts';
import { RunEnds } from './run-tree/run-ends.ts';
import { TreeDesk } from './run-tree/tree-desk.ts';
import { entriesOf, isAtWork } from './run-tree/tree-state.ts';

const spawnChildren = defineUpdate<readonly SpawnAnswer[], [readonly SpawnChild[]]>(spawnChildrenUpdate);
const cancelSubtree = defineUpdate<CancelAnswer, [CancelSubtree]>(cancelSubtreeUpdate);
const cancelLater = defineSignal<[CancelSubtree]>(cancelSubtreeSignal);
const treeOf = defineQuery<TreeState>(treeQuery);
const budgetReport = defineSignal<[BudgetReport]>(budgetReportSignal);

/** Updates after which it continues as new: Temporal takes 2,000 of one execution. */
const longestUpdates = 1_500;

/** @returns the state when nothing has been at work for `input.idleMs`. */
export async function runTree(input: RunTreeInput): Promise<TreeState> {
  // Cancelling this workflow itself, as in Temporal's pages, is cancelling the root.
  const cancelled = CancellationScope.current().cancelRequested;
  return await CancellationScope.nonCancellable(async () => {
    const children = new TreeChildren(input, () => ends.hurry());
    const ends = new RunEnds(children);
    const desk = new TreeDesk(children, ends);
    let updates = 0;
    const due = (): boolean => isContinuationDue(input) || updates >= longestUpdates;
    const admit = (fault: string | null): void => {
      if (fault !== null) throw ApplicationFailure.nonRetryable(fault, 'InvalidMessage');
      if (due()) throw ApplicationFailure.nonRetryable('this tree is about to continue', treeBusyFailure);
    };
    const take = async <T>(work: () => Promise<T>): Promise<T> => {
      updates += 1;
      return await CancellationScope.nonCancellable(work);
    };
    setHandler(treeOf, () => children.tree);
    setHandler(spawnChildren, async (requests) => await take(() => desk.spawn(requests)), {
      validator: (requests) => admit(faultOf(requests)),
    });
    setHandler(cancelSubtree, async (request) => await take(async () => desk.cancel(request)), {
      validator: ({ handle }) => admit(handlePattern.test(handle) ? null : 'handle: must be a handle'),
    });
    setHandler(budgetReport, (report) => children.budgets.take(report));
    setHandler(cancelLater, (request) => {
      desk.cancel(request);
    });
    cancelled.catch(() => {
      desk.cancel({
        handle: input.root,
        reason: cancelReason() ?? 'its tree was cancelled in Temporal',
      });
    });
    children.resume();
    void ends.watch();
    // Among versioned workers the next execution begins on the build that is current then.
    const goOn = makeContinueAsNewFunc<typeof runTree>({ initialVersioningBehavior: 'AUTO_UPGRADE' });
    const settled = (): boolean => allHandlersFinished() && children.budgets.isQuiet;
    const quiet = (): boolean => settled() && isQuiet(children.tree);
    for (;;) {
      setCurrentDetails(describeTree(children.tree));
      await condition(() => quiet() || due());
      if (due()) {
        await condition(settled);
        await goOn({ ...input, state: children.tree });
      }
      const disturbed = await condition(() => !quiet() || due(), input.idleMs);
      if (!disturbed) return children.tree;
    }
  });
}

function isContinuationDue({ continueAfterEvents }: RunTreeInput): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return (
    continueAsNewSuggested || (continueAfterEvents !== undefined && historyLength >= continueAfterEvents)
  );
}

/** Nothing is at work, and all is known of what has ended. */
function isQuiet(tree: TreeState): boolean {
  return entriesOf(tree).every(([, run]) => !isAtWork(run) && run.counters !== null);
}

function faultOf(requests: readonly SpawnChild[]): string | null {
  if (!Array.isArray(requests) || requests.length === 0) return 'must be a list of runs to start';
  const wrong = requests.find(
    ({ handle, parent }) => !handlePattern.test(handle) || !handlePattern.test(parent),
  );
  return wrong === undefined ? null : 'handle, parent: must be handles';
}
