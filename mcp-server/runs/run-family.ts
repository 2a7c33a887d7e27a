/**
 * What belongs to a run: its children, and what it and all below it have done together. From Temporal's
 * list of the tree, in which a new run appears within about a second; runs at work are looked at once more.
 */
import { openGrant } from '../../auth/grant.ts';
import { anonymousCaller, type Handle } from '../../contracts/ids.ts';
import {
  isFinal,
  maxTreeRuns,
  searchAttributes,
  workflowTypes,
  zeroCounters,
  type RunCounters,
} from '../../contracts/run.ts';
import { askerOf, maySee, type Asker } from './asker.ts';
import { quoteFilterValue } from './list-runs.ts';
import type { RunReader } from './run-reader.ts';
import { viewRun, type RunView } from './run-view.ts';
import type { TemporalLink } from './temporal-link.ts';

export interface RunFamily {
  /** Runs directly under it that the asker may see, oldest first. */
  readonly children: readonly RunView[];
  /** Of the run and all below it. */
  readonly subtree: {
    readonly runs: number;
    readonly atWork: number;
    readonly counters: RunCounters;
  };
}

/** Totals count what the asker may not see. */
const everyone = askerOf(anonymousCaller, openGrant);
/** Runs that are looked at at the same time. */
const sideBySide = 20;

export async function readFamily(
  deps: { readonly temporal: TemporalLink; readonly reader: RunReader },
  run: RunView,
  asker: Asker,
): Promise<RunFamily> {
  const listed = await listTree(deps.temporal, run.root);
  const below = subtreeOf(listed, run.handle);
  const members = [run, ...(await refreshed(deps.reader, below))];
  return {
    children: members.filter(({ parent, caller }) => parent === run.handle && maySee(asker, caller)),
    subtree: {
      runs: members.length,
      atWork: members.filter(({ status }) => !isFinal(status)).length,
      counters: members.map(({ counters }) => counters).reduce(addCounters, zeroCounters),
    },
  };
}

/** Newest first, as Temporal lists them. */
export async function listTree(temporal: TemporalLink, root: Handle): Promise<RunView[]> {
  // A long run has several executions; the last one stands for all of them.
  const query = [
    `WorkflowType = '${workflowTypes.agentRun}'`,
    `${searchAttributes.root} = ${quoteFilterValue(root)}`,
    `ExecutionStatus != 'ContinuedAsNew'`,
  ].join(' AND ');
  return await temporal.call(async (client) => {
    const found: RunView[] = [];
    for await (const execution of client.workflow.list({ query, pageSize: 500 })) {
      const view = viewRun(execution);
      if (view !== null) found.push(view);
      if (found.length >= maxTreeRuns) break;
    }
    return found;
  });
}

/** All below the run, oldest first within one parent. Pure. */
export function subtreeOf(listed: readonly RunView[], top: Handle): RunView[] {
  const children = new Map<Handle, RunView[]>();
  for (const run of listed.toReversed()) {
    if (run.parent === null) continue;
    const siblings = children.get(run.parent);
    if (siblings === undefined) children.set(run.parent, [run]);
    else siblings.push(run);
  }
  const found = [...(children.get(top) ?? [])];
  for (let index = 0; index < found.length; index += 1) {
    const at = found[index];
    if (at !== undefined) found.push(...(children.get(at.handle) ?? []));
  }
  return found;
}

/** A list lags behind: what it says of runs at work is asked for once more. */
export async function refreshed(reader: RunReader, runs: readonly RunView[]): Promise<RunView[]> {
  const fresh = [...runs];
  const atWork = runs.flatMap((run, index) => (isFinal(run.status) ? [] : [{ run, index }]));
  for (let from = 0; from < atWork.length; from += sideBySide) {
    await Promise.all(
      atWork.slice(from, from + sideBySide).map(async ({ run, index }) => {
        const found = await reader.find(run.handle, everyone);
        if (found !== null) fresh[index] = found.view;
      }),
    );
  }
  return fresh;
}

export function addCounters(one: RunCounters, other: RunCounters): RunCounters {
  return {
    turns: one.turns + other.turns,
    toolCalls: one.toolCalls + other.toolCalls,
    failedToolCalls: one.failedToolCalls + other.failedToolCalls,
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    modelMs: one.modelMs + other.modelMs,
    toolMs: one.toolMs + other.toolMs,
    heldMs: one.heldMs + other.heldMs,
  };
}
