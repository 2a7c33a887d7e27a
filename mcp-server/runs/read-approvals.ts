/**
 * What a run itself knows of its approvals: decisions, and arguments in full where its memo had no room
 * for them. A worker has to answer; without one, nothing more is known than the memo tells.
 */
import type { Handle } from '../../contracts/ids.ts';
import { approvalsQuery, runApprovalsSchema, type RunApprovals } from '../../contracts/run.ts';
import type { RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';

/** Milliseconds a worker has to answer. */
const limitMs = 5_000;

/** @returns nothing at all when nobody answers. */
export async function readApprovals(temporal: TemporalLink, handle: Handle): Promise<RunApprovals> {
  try {
    const answer: unknown = await temporal.call(
      (client) => client.workflow.getHandle(handle).query(approvalsQuery),
      limitMs,
    );
    return runApprovalsSchema.parse(answer);
  } catch {
    return { open: [], decided: [] };
  }
}

/** The run with its open approvals as they are, if the memo tells of arguments that it has cut. */
export async function withWholeArguments(temporal: TemporalLink, run: RunView): Promise<RunView> {
  // What is whole is the JSON text of an object and ends as such.
  if (run.pendingApprovals.every((one) => one.arguments.endsWith('}'))) return run;
  const { open } = await readApprovals(temporal, run.handle);
  const whole = new Map(open.map((one) => [one.id, one]));
  return { ...run, pendingApprovals: run.pendingApprovals.map((one) => whole.get(one.id) ?? one) };
}
