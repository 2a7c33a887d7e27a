/**
 * A run as Temporal holds it: names, input, memo and result. The mcp-server writes inputs and reads
 * memos; the workflows read inputs and write memos; nothing else passes between them.
 */
import { z } from 'zod';
import { callerSchema, handleSchema } from './ids.ts';
import { budgetNames, runStatusNames } from './run-names.ts';
import { serviceClassSchema } from './service-class.ts';

export * from './run-names.ts';

export const runStatusSchema = z.enum(runStatusNames);
export type RunStatus = z.infer<typeof runStatusSchema>;

/** Whether a run with this status will not change any more. */
export function isFinal(status: RunStatus): boolean {
  return status === 'Completed' || status === 'Failed' || status === 'Cancelled';
}

/** Limits on a run and on everything below it; what is absent is not limited. */
export const budgetLimitsSchema = z.strictObject({
  /** Prompt and completion tokens, cached ones too. */
  tokens: z.int().min(1).max(1_000_000_000_000).optional(),
  toolCalls: z.int().min(1).max(10_000_000).optional(),
  /** From the start of the run on, however long it is idle. */
  seconds: z.int().min(1).max(31_536_000).optional(),
});
export type BudgetLimits = z.infer<typeof budgetLimitsSchema>;

const allowedSchema = z.int().min(0).nullable();

export const runInputSchema = z.strictObject({
  task: z.string().min(1),
  /** null: the first model of the pool, settled by the first turn. */
  model: z.string().min(1).nullable().default(null),
  class: serviceClassSchema.default('interactive'),
  system: z.string().optional(),
  /** Names from the tool listing; null: all of them; empty: none. */
  tools: z.array(z.string().min(1)).max(256).nullable().default(null),
  /** At this many calls the model gets no tools any more and must answer. */
  maxToolCalls: z.int().min(0).max(10_000).default(8),
  /** Tokens of one reply; 0: the engine decides. */
  maxTokens: z.int().min(0).max(1_000_000).default(256),
  /** Whether the calls of one reply run side by side. */
  parallelToolCalls: z.boolean().default(false),
  /** Tools whose calls wait for the user, whatever their annotations say. */
  approveTools: z.array(z.string().min(1)).max(256).default([]),
  budget: budgetLimitsSchema.optional(),
  /**
   * What it may spend before it must ask its tree, null where nothing binds it. Set by the tree; absent:
   * no budget above it binds it, and it keeps the ledger of its own, if any, itself.
   */
  allowance: z.strictObject({ tokens: allowedSchema, toolCalls: allowedSchema }).optional(),
  /** Set by the tree that starts the run, together with `root`; absent: the run is a root. */
  parent: handleSchema.optional(),
  root: handleSchema.optional(),
  caller: callerSchema,
  traceparent: z.string().max(128).optional(),
});
export type RunInput = z.infer<typeof runInputSchema>;

const countSchema = z.int().min(0);

export const runCountersSchema = z.object({
  turns: countSchema,
  /** Calls that were answered with a result or an error; refused ones count too. */
  toolCalls: countSchema,
  failedToolCalls: countSchema,
  promptTokens: countSchema,
  completionTokens: countSchema,
  cachedTokens: countSchema,
  /** Milliseconds in model turns, without the time they were held. */
  modelMs: countSchema,
  toolMs: countSchema,
  /** Milliseconds its turns were held by the scheduler. */
  heldMs: countSchema,
});
export type RunCounters = z.infer<typeof runCountersSchema>;

/** A tool call that waits for the user. */
export const pendingApprovalSchema = z.object({
  /** Bound to this call and its exact arguments. */
  id: z.string(),
  /** As the model knows it. */
  tool: z.string(),
  /** JSON text, cut at `memoTextLimit`. */
  arguments: z.string(),
});
export type PendingApproval = z.infer<typeof pendingApprovalSchema>;

/** What a client says of an open approval. */
export const approvalDecisionSchema = z.strictObject({
  id: z.string().min(1).max(128),
  allow: z.boolean(),
  /** Who decided, told to whoever comes second. */
  by: z.string().min(1).max(256),
});
export type ApprovalDecision = z.infer<typeof approvalDecisionSchema>;

/** An approval that is decided; it can be decided once. */
export const decidedApprovalSchema = z.object({
  id: z.string(),
  tool: z.string(),
  allow: z.boolean(),
  by: z.string(),
});
export type DecidedApproval = z.infer<typeof decidedApprovalSchema>;

/** What the approvals query answers: arguments in full, and the latest decisions, newest last. */
export const runApprovalsSchema = z.object({
  open: z.array(pendingApprovalSchema),
  decided: z.array(decidedApprovalSchema),
});
export type RunApprovals = z.infer<typeof runApprovalsSchema>;

/** What a run itself has spent of the budgets that bind it. */
export const spentSchema = z.object({ tokens: z.int().min(0), toolCalls: z.int().min(0) });
export type Spent = z.infer<typeof spentSchema>;

/** Budget of a run as readers see it. */
export const runBudgetSchema = z.object({
  limits: budgetLimitsSchema,
  /** By the run and everything below it; seconds since its start, as of its last change. */
  used: z.object({ tokens: z.number().min(0), toolCalls: z.number().min(0), seconds: z.number().min(0) }),
  /** The limit that ended the run. */
  exceeded: z.enum(budgetNames).nullable(),
  /** Its tree keeps it: a memo knows only what the run itself has used of it. */
  isShared: z.boolean().default(false),
});
export type RunBudget = z.infer<typeof runBudgetSchema>;

export const runMemoSchema = z.object({
  status: runStatusSchema,
  /** What it does now: `starting`, `model turn 3`, `tools: lookup`, `ended`. */
  phase: z.string(),
  /** First line of the task, cut. */
  summary: z.string(),
  model: z.string().nullable(),
  class: serviceClassSchema,
  caller: callerSchema,
  root: handleSchema,
  parent: handleSchema.nullable(),
  /**
   * ISO 8601: when its first workflow execution started, which is not the one that Temporal describes after
   * continue-as-new. null: before a worker has touched it.
   */
  startedAt: z.string().nullable().default(null),
  counters: runCountersSchema,
  /** Why it failed or was cancelled; null while it runs or when it completed. */
  reason: z.string().nullable(),
  /** Last text of the model, cut; shown as partial when the run did not complete. */
  partial: z.string().nullable(),
  /** Open ones, in the order of their calls. */
  pendingApprovals: z.array(pendingApprovalSchema).default([]),
  /** The latest decisions, newest last; they stay when the run has ended. */
  decidedApprovals: z.array(decidedApprovalSchema).default([]),
  /** null: the run has no budget of its own. */
  budget: runBudgetSchema.nullable().default(null),
  /** null: no budget binds it. */
  spent: spentSchema.nullable().default(null),
});
export type RunMemo = z.infer<typeof runMemoSchema>;

/** What a completed `agent-run` returns. A failed or cancelled one ends as such in Temporal; its memo says why. */
export const runResultSchema = z.object({
  text: z.string(),
  /** The engine stopped at `maxTokens`: the text may end in mid-sentence. */
  cut: z.boolean(),
  counters: runCountersSchema,
  /** null: no budget binds it. */
  spent: spentSchema.nullable().default(null),
});
export type RunResult = z.infer<typeof runResultSchema>;
