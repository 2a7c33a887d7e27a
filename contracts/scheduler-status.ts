/** The body of the scheduler's `GET /status`: what it decides on, for people, tests and the web page. */
import { z } from 'zod';
import { apiSchema, engineSchema, policySchema } from './config-file.ts';
import { configStatusSchema } from './config-status.ts';
import { replicaIdSchema, runIdSchema } from './ids.ts';
import { serviceClassSchema } from './service-class.ts';

/** `generating`: a turn is in flight. `paused`: its last turn ended in tool calls. `idle`: in an answer or a failure. */
export const runPhaseSchema = z.enum(['held', 'generating', 'paused', 'idle']);
export type RunPhase = z.infer<typeof runPhaseSchema>;

export const replicaStatusSchema = z.object({
  id: replicaIdSchema,
  url: z.string(),
  engine: engineSchema,
  kind: z.enum(['generative', 'one-shot']),
  models: z.array(z.string()),
  /** As its entry says, as it has told, or as its kind is there for. */
  apis: z.array(apiSchema),
  /** null: not probed yet. */
  healthy: z.boolean().nullable(),
  /** As the engine last reported; null is unknown, never zero. */
  running: z.number().nullable(),
  waiting: z.number().nullable(),
  /** Most turns in flight now; null: not limited. */
  limit: z.number().nullable(),
  inFlight: z.number(),
  pausedInteractive: z.number(),
  /** Live contexts counted there, and how many tokens they may come to (`residency`). */
  residency: z.object({
    residents: z.number(),
    tokens: z.number(),
    /** null: not limited. */
    capacityTokens: z.number().nullable(),
    /** What set the capacity last. */
    capacityReason: z.enum(['unlimited', 'reported', 'miss', 'hit']),
    /** As the engine reports it; null: it does not. */
    reportedTokens: z.number().nullable(),
    /** Contexts that the engine keeps apart, one a slot; null: it has none. */
    slots: z.number().nullable(),
    /** How many residents there may be; null: not limited. */
    capacityContexts: z.number().nullable(),
    /** Resumed turns of resident runs whose context was still cached, and those whose context was gone. */
    hits: z.number(),
    misses: z.number(),
  }),
  /** Why the first held turn that may come here has no room; null: none waits for room. */
  refuses: z.enum(['places', 'engine_queue', 'memory']).nullable(),
});

export const runStatusSchema = z.object({
  run: runIdSchema,
  caller: z.string(),
  class: serviceClassSchema,
  phase: runPhaseSchema,
  replica: replicaIdSchema.nullable(),
  turns: z.number(),
  /** How often one of its turns ended in tool calls. */
  pauses: z.number(),
  /** Replicas its turns have gone to, in order of first use, at most 16. */
  replicas: z.array(replicaIdSchema),
});
export type RunStatusEntry = z.infer<typeof runStatusSchema>;

export const schedulerStatusSchema = z.object({
  replicas: z.array(replicaStatusSchema),
  held: z.array(
    z.object({ class: serviceClassSchema, caller: z.string(), turns: z.number(), oldestMs: z.number() }),
  ),
  runsByPhase: z.record(z.string(), z.number()),
  /** The most recently active live runs, at most 500. */
  runs: z.array(runStatusSchema),
  proxies: z.number(),
  policy: policySchema,
  /** Absent: a scheduler of an older version. */
  config: configStatusSchema.optional(),
  /** Which of several schedulers decides; absent: there is one, and it does. */
  lease: z
    .object({
      role: z.enum(['active', 'standby']),
      /** Who has the lease, as it calls itself; null: nobody, or it is not known yet. */
      holder: z.string().nullable(),
      /** Where the lease is, as it was set. */
      at: z.string(),
      /** What stands in the way of reading or renewing it; null: nothing. */
      fault: z.string().nullable(),
    })
    .optional(),
});
export type SchedulerStatus = z.infer<typeof schedulerStatusSchema>;
