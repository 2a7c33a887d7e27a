/** The newest runs of a caller, from Temporal's visibility; a run appears there within about a second. */
import type { Caller } from '../../contracts/ids.ts';
import { searchAttributes, workflowTypes } from '../../contracts/run.ts';
import { viewRun, type RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';

/** Most runs of one list. */
export const listLimit = 50;

export interface RunList {
  /** Newest first. */
  readonly runs: readonly RunView[];
  /** There are more than are listed. */
  readonly more: boolean;
}

/** A string literal of Temporal's list filter. */
export function quoteFilterValue(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}

export async function listRuns(temporal: TemporalLink, caller: Caller): Promise<RunList> {
  // A long run has several executions; the last one stands for all of them.
  const query = [
    `WorkflowType = '${workflowTypes.agentRun}'`,
    `${searchAttributes.caller} = ${quoteFilterValue(caller)}`,
    `ExecutionStatus != 'ContinuedAsNew'`,
  ].join(' AND ');
  const views = await temporal.call(async (client) => {
    const found: RunView[] = [];
    for await (const execution of client.workflow.list({ query, pageSize: listLimit + 1 })) {
      const view = viewRun(execution);
      if (view !== null) found.push(view);
      if (found.length > listLimit) break;
    }
    return found;
  });
  return { runs: views.slice(0, listLimit), more: views.length > listLimit };
}
