/**
 * The link between a proxy and the scheduler: JSON text messages over one WebSocket (`/link`), ordered,
 * parsed by these strict schemas on both sides. Ages travel instead of clock readings, so the two
 * processes need no common clock. Where both are in one process, the same messages go from one to the
 * other as they are ({@link OpenLocalLink}).
 *
 * Order on a new connection: proxy sends `resync` first; scheduler answers `pool`, then decisions.
 */
import { z } from 'zod';
import { apiSchema, engineSchema, rateLimitsSchema } from './config-file.ts';
import { rejectCodes } from './error-codes.ts';
import { callerSchema, proxyIdSchema, replicaIdSchema, runIdSchema, turnIdSchema } from './ids.ts';
import { serviceClassSchema } from './service-class.ts';

const tokensSchema = z.int().min(0);
const ageMsSchema = z.int().min(0);

export const usageSchema = z.strictObject({ promptTokens: tokensSchema, completionTokens: tokensSchema });
export type Usage = z.infer<typeof usageSchema>;

/** How a turn ended: in tool calls, in a final answer, broken off, or refused by the engine (429, 5xx). */
export const turnOutcomeSchema = z.enum(['paused', 'done', 'failed', 'refused']);
export type TurnOutcome = z.infer<typeof turnOutcomeSchema>;

/** What the scheduler must know of a turn to decide on it; never any of its text. */
export const turnSpecSchema = z.strictObject({
  turn: turnIdSchema,
  run: runIdSchema,
  class: serviceClassSchema,
  caller: callerSchema,
  /** null: whatever the pool serves (`/v1/decide` without a model). */
  model: z.string().min(1).nullable(),
  api: apiSchema,
  /** Estimate from the body's size. */
  promptTokens: tokensSchema,
  /** What the request allows; null when it sets no limit. */
  maxTokens: tokensSchema.nullable(),
  /** Rolling hashes of the conversation in blocks of 1 KiB, oldest first. */
  prefix: z.array(z.string().max(32)).max(64),
  /** `x-fermata-turn`: makes a client's retry recognisable. */
  turnNumber: z.int().min(0).optional(),
  /**
   * It goes on from a response that one replica stores, so no other can serve it: the one named, or, where its
   * proxy does not know, that of its run's last turn.
   */
  stored: z.strictObject({ replica: replicaIdSchema.nullable() }).optional(),
});
export type TurnSpec = z.infer<typeof turnSpecSchema>;

/** A live run as a proxy remembers it, for a scheduler that has restarted. */
export const resyncRunSchema = z.strictObject({
  run: runIdSchema,
  class: serviceClassSchema,
  caller: callerSchema,
  replica: replicaIdSchema,
  phase: z.enum(['paused', 'idle']),
  /** Prompt and output of its last turn. */
  footprintTokens: tokensSchema,
  idleForMs: ageMsSchema,
});
export type ResyncRun = z.infer<typeof resyncRunSchema>;

export const proxyMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('resync'),
    proxy: proxyIdSchema,
    runs: z.array(resyncRunSchema).max(100_000),
    held: z.array(z.strictObject({ spec: turnSpecSchema, heldForMs: ageMsSchema })).max(100_000),
    inFlight: z
      .array(
        z.strictObject({
          spec: turnSpecSchema,
          replica: replicaIdSchema,
          started: z.boolean(),
          admittedForMs: ageMsSchema,
        }),
      )
      .max(100_000),
  }),
  /** Also sent again, with the same turn id, when a turn that has been reported finished is tried once more. */
  z.strictObject({ type: z.literal('turnArrived'), spec: turnSpecSchema, heldForMs: ageMsSchema }),
  z.strictObject({ type: z.literal('turnAbandoned'), turn: turnIdSchema }),
  z.strictObject({ type: z.literal('turnStarted'), turn: turnIdSchema }),
  /** Sent at most every 60 s a turn that still receives bytes, so that it does not expire. */
  z.strictObject({ type: z.literal('turnsProgressed'), turns: z.array(turnIdSchema).max(100_000) }),
  z.strictObject({
    type: z.literal('turnFinished'),
    turn: turnIdSchema,
    outcome: turnOutcomeSchema,
    usage: usageSchema.optional(),
    cachedTokens: tokensSchema.optional(),
    toolNames: z.array(z.string().max(256)).max(64).optional(),
  }),
  z.strictObject({ type: z.literal('runEnded'), run: runIdSchema }),
]);
export type ProxyMessage = z.infer<typeof proxyMessageSchema>;

/** A replica as the proxies need it: where to forward, and what `/v1/models` tells. */
export const poolReplicaSchema = z.strictObject({
  id: replicaIdSchema,
  url: z.string(),
  engine: engineSchema,
  kind: z.enum(['generative', 'one-shot']),
  models: z.array(z.string()),
  apis: z.array(apiSchema),
  /** Its models take images in a conversation, as its entry says. */
  images: z.boolean().default(false),
  apiKeyEnv: z.string().optional(),
  healthy: z.boolean(),
});
export type PoolReplica = z.infer<typeof poolReplicaSchema>;

export const schedulerMessageSchema = z.discriminatedUnion('type', [
  /** Sent after each resync and whenever models, health or members change. */
  z.strictObject({
    type: z.literal('pool'),
    replicas: z.array(poolReplicaSchema),
    streamIdleMs: z.int().min(1),
    /** By caller; those of `everyCaller` hold for callers that are not named. An empty entry: no limits. */
    rateLimits: z.record(z.string(), rateLimitsSchema),
  }),
  z.strictObject({ type: z.literal('admit'), turn: turnIdSchema, replica: replicaIdSchema }),
  z.strictObject({ type: z.literal('reject'), turn: turnIdSchema, code: z.enum(rejectCodes) }),
  /** Its run has ended while the turn is in flight: close the engine's request. */
  z.strictObject({ type: z.literal('abort'), turn: turnIdSchema }),
]);
export type SchedulerMessage = z.infer<typeof schedulerMessageSchema>;

/** The proxy's end of a link inside one process. */
export interface LocalLink {
  /** Takes a message at once; the scheduler keeps it, so it must not be changed any more. */
  send(message: ProxyMessage): void;
  /** The proxy leaves in order; nothing is received after it. */
  close(): void;
}

/** What a proxy does with what comes over its link; neither is called before the link has been returned. */
export interface LocalLinkEvents {
  readonly received: (message: SchedulerMessage) => void;
  /** The scheduler has ended the link. */
  readonly lost: () => void;
}

/** Links a proxy with the scheduler in its process; null: the scheduler takes none, for now or for good. */
export type OpenLocalLink = (events: LocalLinkEvents) => LocalLink | null;
