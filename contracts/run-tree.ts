/**
 * The tree of a run as its `run-tree` workflow keeps it, and what passes between it and the mcp-server.
 * Names of the messages are in `run-names.ts`.
 */
import { z } from 'zod';
import { callerSchema, handleSchema } from './ids.ts';
import {
  budgetLimitsSchema,
  budgetNames,
  runCountersSchema,
  runInputSchema,
  runStatusSchema,
  type RunBudget,
  type RunCounters,
  type RunStatus,
  type Spent,
} from './run.ts';

/** Why a run and everything below it was ended on purpose; nothing can be started under it any more. */
export const closedSchema = z.object({ kind: z.enum(['cancel', 'budget']), reason: z.string() });
export type Closed = z.infer<typeof closedSchema>;

export const treeRunSchema = z.object({
  /** null: the root. */
  parent: handleSchema.nullable(),
  /** 1: the root. */
  depth: z.int().min(1),
  /** null: the root's, until it has been looked up. */
  caller: callerSchema.nullable(),
  /** By which a repeated spawn is told from another one; empty: the root's. */
  requestHash: z.string(),
  state: z.enum(['starting', 'running', 'ended']),
  /** How it ended; null while it runs. */
  status: runStatusSchema.nullable(),
  /** Of an ended run; null until they are known. */
  counters: runCountersSchema.nullable(),
  /** Set where the cancel began; what is below is closed with it. */
  closed: closedSchema.nullable(),
});
export type TreeRun = z.infer<typeof treeRunSchema>;

const amountsSchema = z.object({ tokens: z.number(), toolCalls: z.number() });

/** The ledgers of the runs with a budget, and what each run below one has spent and holds of it. */
export const treeBudgetsSchema = z.object({
  /** By handle of the run whose budget it is. */
  owners: z.record(
    z.string(),
    z.object({
      limits: budgetLimitsSchema,
      /** Milliseconds since the epoch. */
      startedAtMs: z.number(),
      /** By the owner and everything below it. */
      used: amountsSchema,
      granted: amountsSchema,
      exceeded: z.enum(budgetNames).nullable(),
    }),
  ),
  members: z.record(
    z.string(),
    z.object({
      owners: z.array(z.string()).readonly(),
      reports: z.number(),
      used: amountsSchema,
      granted: amountsSchema,
      question: z.object({ need: amountsSchema, order: z.number() }).nullable(),
      mayReturn: z.boolean(),
      state: z.enum(['live', 'ending', 'ended']),
    }),
  ),
  questions: z.number(),
});

export const treeStateSchema = z.object({
  root: handleSchema,
  /** By handle, in the order of their start. */
  runs: z.record(handleSchema, treeRunSchema),
  budgets: treeBudgetsSchema.default({ owners: {}, members: {}, questions: 0 }),
});
export type TreeState = z.infer<typeof treeStateSchema>;

/** Argument of the `run-tree` workflow. */
export const runTreeInputSchema = z.strictObject({
  root: handleSchema,
  /** What an execution before it ended with; null: the tree is new. */
  state: treeStateSchema.nullable(),
  /** Milliseconds without a running run after which the workflow ends; its result is its state. */
  idleMs: z.int().min(1),
  /** Events of history after which it continues as new; absent: when Temporal suggests it. */
  continueAfterEvents: z.int().min(1).optional(),
});
export type RunTreeInput = z.infer<typeof runTreeInputSchema>;

export const spawnChildSchema = z.strictObject({
  handle: handleSchema,
  parent: handleSchema,
  requestHash: z.string().min(1),
  /** Runs that its caller may have at work in this tree. */
  maxRunning: z.int().min(1),
  /** Without `parent` and `root`, which the tree adds. */
  input: runInputSchema,
});
export type SpawnChild = z.infer<typeof spawnChildSchema>;

export const spawnRefusalSchema = z.enum([
  /** The handle belongs to a run that was started with other arguments. */
  'conflict',
  /** The handle belongs to a run outside of this tree. */
  'taken',
  'unknown-parent',
  'cancelled',
  'budget',
  'too-deep',
  'tree-full',
  'caller-full',
  'failed',
]);
export type SpawnRefusal = z.infer<typeof spawnRefusalSchema>;

export const spawnAnswerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('started') }),
  /** The same request started it before. */
  z.object({ kind: z.literal('existing') }),
  z.object({ kind: z.literal('refused'), why: spawnRefusalSchema, message: z.string() }),
]);
export type SpawnAnswer = z.infer<typeof spawnAnswerSchema>;

export const cancelSubtreeSchema = z.strictObject({ handle: handleSchema, reason: z.string() });
export type CancelSubtree = z.infer<typeof cancelSubtreeSchema>;

export const cancelAnswerSchema = z.object({
  /** Whether the run is in the tree. */
  known: z.boolean(),
  /** Runs that were at work and were asked to end; the root is not counted. */
  reached: z.int().min(0),
});
export type CancelAnswer = z.infer<typeof cancelAnswerSchema>;

/** A run as a worker reads it from Temporal, for a tree that is not told of its end. */
export interface DescribedRun {
  readonly handle: string;
  /** null: Temporal does not know it (any more). */
  readonly status: RunStatus | null;
  /** null: not known. */
  readonly caller: string | null;
  readonly counters: RunCounters | null;
  /** As its memo has it; null: it has none, or nothing is known. */
  readonly budget: RunBudget | null;
  readonly spent: Spent | null;
  /** Milliseconds since the epoch; null: not known. */
  readonly startedAtMs: number | null;
}
