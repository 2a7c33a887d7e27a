/** How runs are told in JSON: the schemas that the OpenAPI document shows, and what fills them. Pure. */
import { z } from 'zod';
import { handleSchema } from '../../contracts/ids.ts';
import {
  decidedApprovalSchema,
  pendingApprovalSchema,
  runBudgetSchema,
  runCountersSchema,
  runStatusSchema,
} from '../../contracts/run.ts';
import { serviceClassSchema } from '../../contracts/service-class.ts';
import { cutMiddle } from '../runs/fair-cut.ts';
import type { RunFamily } from '../runs/run-family.ts';
import type { RunStanding } from '../runs/run-service.ts';
import type { RunView } from '../runs/run-view.ts';
import type { TreeNode } from '../runs/tree-of-runs.ts';

const timeSchema = z.string().describe('ISO 8601, UTC.');

export const runSummarySchema = z.object({
  handle: handleSchema,
  status: runStatusSchema,
  phase: z.string().describe('What it does now: `starting`, `model turn 3`, `ended`.'),
  task: z.string().describe('First line of the task, cut.'),
  model: z.string().nullable().describe('null: the first of the pool, not chosen yet.'),
  class: serviceClassSchema.nullable(),
  caller: z.string().nullable(),
  root: handleSchema.describe('The root of its tree; itself for a root.'),
  parent: handleSchema.nullable(),
  startedAt: timeSchema,
  endedAt: timeSchema.nullable(),
  counters: runCountersSchema.describe('Its own work.'),
  pendingApprovals: z
    .array(pendingApprovalSchema)
    .describe('Tool calls that wait for a decision; arguments are cut in lists.'),
  budget: runBudgetSchema.nullable(),
  reason: z.string().nullable().describe('Why it failed or was cancelled.'),
});
export type RunSummary = z.infer<typeof runSummarySchema>;

export const subtreeSchema = z
  .object({ runs: z.int(), atWork: z.int(), counters: runCountersSchema })
  .describe('Of the run and all below it together.');

const childSchema = z.object({
  handle: handleSchema,
  status: runStatusSchema,
  phase: z.string(),
  task: z.string(),
  startedAt: timeSchema,
  endedAt: timeSchema.nullable(),
});

export const runDetailSchema = runSummarySchema.extend({
  result: z.string().nullable().describe('The whole answer; null until it has completed.'),
  cutAtMaxTokens: z
    .boolean()
    .describe('The engine stopped at maxTokens: the result may end in mid-sentence.'),
  partial: z.string().nullable().describe('Last text of a run that failed or was cancelled.'),
  decidedApprovals: z.array(decidedApprovalSchema).describe('The latest, newest last.'),
  children: z.array(childSchema).describe('Directly under it, oldest first.'),
  subtree: subtreeSchema,
});

export const treeSchema = z.object({
  root: handleSchema,
  runs: z
    .array(runSummarySchema.extend({ depth: z.int().describe('1: the root.'), subtree: subtreeSchema }))
    .describe('A parent stands before its children, and those in the order of their start. At most 1,000.'),
});

const listedArgumentBytes = 500;

export function summaryBody(run: RunView, argumentBytes: number = listedArgumentBytes): RunSummary {
  return {
    handle: run.handle,
    status: run.status,
    phase: run.phase,
    task: run.summary,
    model: run.model,
    class: run.class,
    caller: run.caller,
    root: run.root,
    parent: run.parent,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    counters: run.counters,
    pendingApprovals: run.pendingApprovals.map((one) => ({
      ...one,
      arguments: cutMiddle(one.arguments, argumentBytes),
    })),
    budget: run.budget,
    reason: run.reason,
  };
}

/** Of all arguments of one call: a person decides by them. A transcript has them whole. */
const shownArgumentBytes = 200_000;

export function detailBody({ run, family }: RunStanding): z.input<typeof runDetailSchema> {
  return {
    ...summaryBody(run, shownArgumentBytes),
    result: run.result,
    cutAtMaxTokens: run.cutAtMaxTokens,
    partial: run.partial,
    decidedApprovals: [...run.decidedApprovals],
    children: family.children.map(({ handle, status, phase, summary, startedAt, endedAt }) => ({
      handle,
      status,
      phase,
      task: summary,
      startedAt,
      endedAt,
    })),
    subtree: subtreeBody(family.subtree),
  };
}

export function treeNodeBody({ run, depth, subtree }: TreeNode) {
  return { ...summaryBody(run), depth, subtree: subtreeBody(subtree) };
}

function subtreeBody({ runs, atWork, counters }: RunFamily['subtree']) {
  return { runs, atWork, counters };
}
