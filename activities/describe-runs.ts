/** Reads how runs stand from Temporal: status, caller and counters, from description and memo. */
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { runMemoKey, runMemoSchema, type RunStatus } from '../contracts/run.ts';
import type { DescribedRun } from '../contracts/run-tree.ts';

/** Descriptions that are asked for at once. */
const sideBySide = 20;

/** @returns one entry a handle, in their order; the status of a run that Temporal does not know is null. */
export function createDescribeRuns(client: Pick<Client, 'workflow'>) {
  return async (handles: readonly string[]): Promise<DescribedRun[]> => {
    const found: DescribedRun[] = [];
    for (let from = 0; from < handles.length; from += sideBySide) {
      const some = handles.slice(from, from + sideBySide);
      found.push(...(await Promise.all(some.map(async (handle) => await describeRun(client, handle)))));
    }
    return found;
  };
}

async function describeRun(client: Pick<Client, 'workflow'>, handle: string): Promise<DescribedRun> {
  try {
    const { status, memo } = await client.workflow.getHandle(handle).describe();
    const parsed = runMemoSchema.safeParse(memo?.[runMemoKey]);
    return {
      handle,
      status: statusOf(status.name),
      caller: parsed.data?.caller ?? null,
      counters: parsed.data?.counters ?? null,
      budget: parsed.data?.budget ?? null,
      spent: parsed.data?.spent ?? null,
      startedAtMs: startOf(parsed.data?.startedAt),
    };
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return {
      handle,
      status: null,
      caller: null,
      counters: null,
      budget: null,
      spent: null,
      startedAtMs: null,
    };
  }
}

function startOf(startedAt: string | null | undefined): number | null {
  const ms = Date.parse(startedAt ?? '');
  return Number.isNaN(ms) ? null : ms;
}

/** Whether it has ended, and how; all that has not is Running here. */
function statusOf(name: string): RunStatus {
  switch (name) {
    case 'COMPLETED':
      return 'Completed';
    case 'CANCELLED':
      return 'Cancelled';
    case 'FAILED':
    case 'TERMINATED':
    case 'TIMED_OUT':
      return 'Failed';
    default:
      return 'Running';
  }
}
