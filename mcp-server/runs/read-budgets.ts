/**
 * How the budgets of runs stand now. The memo of a run tells of its last change and of its own work only;
 * time goes on, and the ledger of a run with others below it is kept by its tree, which is asked for it.
 * A worker has to answer; without one, no more is told than the memo and the runs below it tell.
 */
import type { Handle } from '../../contracts/ids.ts';
import { isFinal, treeQuery, treeWorkflowId, type RunBudget, type RunCounters } from '../../contracts/run.ts';
import { treeStateSchema, type TreeState } from '../../contracts/run-tree.ts';
import type { RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';

/** Milliseconds a worker has to answer. */
const limitMs = 5_000;

/** The runs with their budgets as they stand; each tree is asked once. */
export async function withBudgets(temporal: TemporalLink, runs: readonly RunView[]): Promise<RunView[]> {
  const nowMs = Date.now();
  const roots = new Set(runs.filter(mayBeShared).map((run) => run.root));
  const trees = new Map(
    await Promise.all([...roots].map(async (root) => [root, await readTree(temporal, root)] as const)),
  );
  return runs.map((run) => ({ ...run, budget: currentBudget(run, trees.get(run.root) ?? null, nowMs) }));
}

/** One that has ended alone is not told when a run is started below it later. */
function mayBeShared({ budget, status }: RunView): boolean {
  return budget !== null && (budget.isShared || isFinal(status));
}

async function readTree(temporal: TemporalLink, root: Handle): Promise<TreeState | null> {
  try {
    const answer: unknown = await temporal.call(
      (client) => client.workflow.getHandle(treeWorkflowId(root)).query(treeQuery),
      limitMs,
    );
    return treeStateSchema.parse(answer);
  } catch {
    return null;
  }
}

/**
 * The budget of a run at `nowMs`. Pure.
 * @param tree null: not asked, or it did not answer.
 */
export function currentBudget(run: RunView, tree: TreeState | null, nowMs: number): RunBudget | null {
  const { budget } = run;
  if (budget === null) return null;
  const ledger = tree?.budgets.owners[run.handle];
  const isOpen =
    !isFinal(run.status) ||
    Object.values(tree?.budgets.members ?? {}).some(
      (member) => member.state === 'live' && member.owners.includes(run.handle),
    );
  const elapsed = Math.max(0, Math.floor((nowMs - Date.parse(run.startedAt)) / 1_000));
  return {
    ...budget,
    used: {
      tokens: Math.max(budget.used.tokens, ledger?.used.tokens ?? 0),
      toolCalls: Math.max(budget.used.toolCalls, ledger?.used.toolCalls ?? 0),
      seconds: isOpen ? Math.max(budget.used.seconds, elapsed) : budget.used.seconds,
    },
    exceeded: budget.exceeded ?? ledger?.exceeded ?? null,
    isShared: budget.isShared || ledger !== undefined,
  };
}

/** The budget with what the runs below are seen to have used, of which their tree has not been told yet. Pure. */
export function withSeen(budget: RunBudget | null, { counters }: { readonly counters: RunCounters }) {
  if (budget === null || !budget.isShared) return budget;
  const { used } = budget;
  return {
    ...budget,
    used: {
      ...used,
      tokens: Math.max(used.tokens, counters.promptTokens + counters.completionTokens),
      toolCalls: Math.max(used.toolCalls, counters.toolCalls),
    },
  };
}
