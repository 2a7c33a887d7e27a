/**
 * How many runs stand how, for a scrape: one or two counts of Temporal's, shared by all who ask within some
 * seconds, and short. Never rejects.
 */
import { searchAttributes, workflowTypes } from '../../contracts/run.ts';
import { SharedRead } from './shared-read.ts';
import type { TemporalLink } from './temporal-link.ts';

export const countedStatuses = [
  'running',
  'awaiting_approval',
  'completed',
  'failed',
  'cancelled',
  'terminated',
  'timed_out',
] as const;
export type CountedStatus = (typeof countedStatuses)[number];
export type RunCounts = Readonly<Record<CountedStatus, number>>;

const keepMs = 10_000;
const withinMs = 2_000;

/** As Temporal names them; an execution that continued as new is no run of its own. */
const statuses: Readonly<Record<string, CountedStatus>> = {
  Running: 'running',
  Completed: 'completed',
  Failed: 'failed',
  Canceled: 'cancelled',
  Terminated: 'terminated',
  TimedOut: 'timed_out',
};

/** null: Temporal does not answer now. */
export function createRunCounts(temporal: Pick<TemporalLink, 'call'>): () => Promise<RunCounts | null> {
  const ofRuns = `WorkflowType = '${workflowTypes.agentRun}'`;
  const waiting = `${ofRuns} AND ExecutionStatus = 'Running' AND ${searchAttributes.status} = 'AwaitingApproval'`;
  const shared = new SharedRead(
    async () =>
      await temporal.call(
        async ({ workflow }) =>
          await Promise.all([workflow.count(`${ofRuns} GROUP BY ExecutionStatus`), workflow.count(waiting)]),
        withinMs,
      ),
    keepMs,
  );
  return async () => {
    try {
      const [byStatus, { count: awaiting }] = await shared.get();
      const counts = Object.fromEntries(countedStatuses.map((status) => [status, 0])) as Record<
        CountedStatus,
        number
      >;
      for (const { groupValues, count } of byStatus.groups) {
        const status = statuses[String(groupValues[0])];
        if (status !== undefined) counts[status] += count;
      }
      counts.awaiting_approval = Math.min(awaiting, counts.running);
      counts.running -= counts.awaiting_approval;
      return counts;
    } catch {
      return null;
    }
  };
}
