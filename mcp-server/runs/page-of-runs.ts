/**
 * Runs by page, filtered, from Temporal's list, in which a change of a run shows within about a second.
 * Runs at work come first, the latest start first; then those that have ended, the latest end first. A
 * run that ends while somebody pages may come twice; none that was there all the time is left out.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { searchAttributes, workflowTypes, type RunStatus } from '../../contracts/run.ts';
import type { ServiceClass } from '../../contracts/service-class.ts';
import type { Asker } from './asker.ts';
import { listExecutions } from './list-executions.ts';
import { quoteFilterValue } from './list-runs.ts';
import { viewRun, type RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';
import { UserFault } from './user-fault.ts';

/** What is absent does not filter. */
export interface RunFilter {
  /** Any of them. */
  readonly statuses?: readonly RunStatus[] | undefined;
  readonly caller?: string | undefined;
  readonly class?: ServiceClass | undefined;
  /** Only runs without a parent. */
  readonly rootsOnly?: boolean | undefined;
  /** Stands somewhere in the first line of the task; upper and lower case are the same. */
  readonly text?: string | undefined;
  readonly startedAfter?: Date | undefined;
  readonly startedBefore?: Date | undefined;
}

export interface RunPageRequest {
  readonly filter: RunFilter;
  /** From the page before; absent: the first page. */
  readonly cursor?: string | undefined;
  /** Most runs of the page. */
  readonly limit: number;
}

export interface RunPage {
  readonly runs: readonly RunView[];
  /** null: this is the last page. With a text to look for, a page may be short, or empty, and not the last. */
  readonly nextCursor: string | null;
}

/** Runs whose tasks are looked at for one page: Temporal cannot search in them. */
const maxLookedAt = 1_000;

/** Temporal's word on how a run stands wins over what the run said of itself last. */
const statusClauses: Readonly<Record<RunStatus, string>> = {
  Running: `(ExecutionStatus = 'Running' AND (${searchAttributes.status} != 'AwaitingApproval' OR ${searchAttributes.status} IS NULL))`,
  AwaitingApproval: `(ExecutionStatus = 'Running' AND ${searchAttributes.status} = 'AwaitingApproval')`,
  Completed: `ExecutionStatus = 'Completed'`,
  Failed: `ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut')`,
  Cancelled: `ExecutionStatus = 'Canceled'`,
};

/** Temporal's list filter for what `asker` may see of it. Pure. */
export function queryFor(filter: RunFilter, asker: Pick<Asker, 'caller' | 'seesAll'>): string {
  const { statuses, caller, class: serviceClass, rootsOnly, startedAfter, startedBefore } = filter;
  const equals = (name: string, value: string): string => `${name} = ${quoteFilterValue(value)}`;
  const started = (sign: string, at: Date): string =>
    `StartTime ${sign} ${quoteFilterValue(at.toISOString())}`;
  return [
    equals('WorkflowType', workflowTypes.agentRun),
    // A long run has several executions; the last one stands for all of them.
    `ExecutionStatus != 'ContinuedAsNew'`,
    ...(asker.seesAll ? [] : [equals(searchAttributes.caller, asker.caller)]),
    ...(caller === undefined ? [] : [equals(searchAttributes.caller, caller)]),
    ...(serviceClass === undefined ? [] : [equals(searchAttributes.class, serviceClass)]),
    ...(rootsOnly === true ? [`${searchAttributes.parent} IS NULL`] : []),
    ...(startedAfter === undefined ? [] : [started('>=', startedAfter)]),
    ...(startedBefore === undefined ? [] : [started('<', startedBefore)]),
    ...(statuses === undefined || statuses.length === 0
      ? []
      : [`(${[...new Set(statuses)].map((status) => statusClauses[status]).join(' OR ')})`]),
  ].join(' AND ');
}

const cursorSchema = z.strictObject({ filter: z.string(), after: z.base64() });

function digestOf(query: string, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([query, text]))
    .digest('base64url')
    .slice(0, 16);
}

function writeCursor(filter: string, after: Uint8Array): string {
  const cursor = { filter, after: Buffer.from(after).toString('base64') };
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** @throws UserFault when it is none, or one of another filter. */
function readCursor(text: string, filter: string): Uint8Array {
  const parsed = z.string().transform(jsonOf).pipe(cursorSchema).safeParse(text);
  if (!parsed.success) {
    throw new UserFault(
      'invalid',
      'cursor: is not one of this list; take nextCursor of the page before as it is',
    );
  }
  if (parsed.data.filter !== filter) {
    throw new UserFault(
      'invalid',
      'cursor: belongs to a list with another filter; repeat the filter of the page before, or start without a cursor',
    );
  }
  return Buffer.from(parsed.data.after, 'base64');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown;
  } catch {
    return null;
  }
}

/** @throws UserFault for a cursor that does not belong here. */
export async function pageOfRuns(
  temporal: TemporalLink,
  { filter, cursor, limit }: RunPageRequest,
  asker: Asker,
): Promise<RunPage> {
  const query = queryFor(filter, asker);
  const text = filter.text?.trim().toLowerCase() ?? '';
  const digest = digestOf(query, text);
  let after = cursor === undefined ? null : readCursor(cursor, digest);
  const runs: RunView[] = [];
  let lookedAt = 0;
  for (;;) {
    // Whole pages of Temporal's only: its token tells of a page's end. So a page here has room for all of it.
    const pageSize = limit - runs.length;
    const at = after;
    const page = await temporal.call((client) => listExecutions(client, { query, pageSize, after: at }));
    lookedAt += page.executions.length;
    for (const execution of page.executions) {
      const view = viewRun(execution);
      if (view !== null && (text === '' || view.summary.toLowerCase().includes(text))) runs.push(view);
    }
    if (page.next === null) return { runs, nextCursor: null };
    after = page.next;
    // Small pages cost as much as large ones: what is left is for the next page.
    if (runs.length * 2 >= limit || lookedAt >= maxLookedAt) {
      return { runs, nextCursor: writeCursor(digest, after) };
    }
  }
}
