/** What Temporal's list shows now: all runs at work, and those that ended lately, in one question. */
import { workflowTypes } from '../../contracts/run.ts';
import { listExecutions, type ExecutionPage } from './list-executions.ts';
import { viewRun, type RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';

/** More are left out, those that have been at work or ended for longest first. */
const maxRuns = 2_000;
const pageSize = 1_000;

/**
 * Newest first: those at work before those that have ended.
 * @param limitMs milliseconds that Temporal may take for a page of it.
 */
export async function lookAtRuns(
  temporal: TemporalLink,
  endedSinceMs: number,
  limitMs: number,
): Promise<RunView[]> {
  const since = new Date(endedSinceMs).toISOString();
  const query = [
    `WorkflowType = '${workflowTypes.agentRun}'`,
    // A long run has several executions; the last one stands for all of them.
    `ExecutionStatus != 'ContinuedAsNew'`,
    `(ExecutionStatus = 'Running' OR CloseTime >= '${since}')`,
  ].join(' AND ');
  const found: RunView[] = [];
  let after: Uint8Array | null = null;
  do {
    const at: Uint8Array | null = after;
    const page: ExecutionPage = await temporal.call(
      async (client) => await listExecutions(client, { query, pageSize, after: at }),
      limitMs,
    );
    for (const execution of page.executions) {
      const view = viewRun(execution);
      if (view !== null) found.push(view);
    }
    after = page.next;
  } while (after !== null && found.length < maxRuns);
  return found;
}
