/**
 * What the bench asks of its load generator, a process of its own, and what it is told. One order at a
 * time; strict on both sides.
 */
import { z } from 'zod';

const targetSchema = z.strictObject({
  /** Root of the gateway or of the engine; `/v1/chat/completions` is added. */
  url: z.string(),
  /** Beside content type and a bearer token: what this gateway needs to know its upstream. */
  headers: z.record(z.string(), z.string()),
});
export type Target = z.infer<typeof targetSchema>;

const requestShape = { target: targetSchema, model: z.string(), maxTokens: z.int().min(1) };

export const openOrderSchema = z.strictObject({
  kind: z.literal('open'),
  ...requestShape,
  ratePerSecond: z.number().positive(),
  windowMs: z.number().positive(),
  seed: z.int(),
});
export type OpenOrder = z.infer<typeof openOrderSchema>;

export const closedOrderSchema = z.strictObject({
  kind: z.literal('closed'),
  ...requestShape,
  connections: z.int().min(1),
  /** `mixed`: half of the requests stream. */
  streams: z.enum(['all', 'none', 'mixed']),
  /** When to stop: after this time, or this many requests, but at the limit at the latest. */
  until: z.union([
    z.strictObject({ windowMs: z.number().positive(), warmUpMs: z.number().min(0) }),
    z.strictObject({ requests: z.int().min(1), limitMs: z.number().positive() }),
  ]),
  /**
   * 0: each request is a conversation of its own. Else this many runs come back turn by turn, in later orders
   * too: half of them named by a header, the others known by their conversation only.
   */
  runs: z.int().min(0),
});
export type ClosedOrder = z.infer<typeof closedOrderSchema>;

export const orderSchema = z.discriminatedUnion('kind', [
  openOrderSchema,
  closedOrderSchema,
  /** Sends this many requests, each on a connection of its own, and leaves them open. */
  z.strictObject({ kind: z.literal('hold'), ...requestShape, count: z.int().min(1) }),
  /** Leaves all of them at once. */
  z.strictObject({ kind: z.literal('release') }),
]);
export type Order = z.infer<typeof orderSchema>;

const quantilesSchema = z.strictObject({
  count: z.int(),
  p50: z.number().nullable(),
  p90: z.number().nullable(),
  p99: z.number().nullable(),
  max: z.number().nullable(),
});

const countsShape = {
  sent: z.int(),
  /** Answered whole with status 200. */
  whole: z.int(),
  /** Another status, a cut reply, a broken connection. */
  failed: z.int(),
  /** The first few reasons, in words. */
  reasons: z.array(z.string()),
};

export const openResultSchema = z.strictObject({
  kind: z.literal('open'),
  ...countsShape,
  /** Still without their end when the window was closed; their first byte counts with the age they had. */
  unfinished: z.int(),
  /** Never sent: too many were under way. */
  dropped: z.int(),
  /** Milliseconds from the moment a request was due to the first byte of its body. */
  firstByteMs: quantilesSchema,
  /** Milliseconds from the engine's sending of a chunk to its arrival here, all chunks. */
  chunkDelayMs: quantilesSchema,
  /** Gap between two chunks here minus the same gap at the engine, in milliseconds. */
  gapExcessMs: quantilesSchema,
  /** How late the generator itself sent. */
  latenessMs: quantilesSchema,
});
export type OpenResult = z.infer<typeof openResultSchema>;

export const closedResultSchema = z.strictObject({
  kind: z.literal('closed'),
  ...countsShape,
  /** Over the time that counts, without warm-up. */
  requestsPerSecond: z.number(),
  totalMs: quantilesSchema,
});
export type ClosedResult = z.infer<typeof closedResultSchema>;

export const resultSchema = z.discriminatedUnion('kind', [
  openResultSchema,
  closedResultSchema,
  z.strictObject({ kind: z.literal('held'), open: z.int() }),
  z.strictObject({ kind: z.literal('released') }),
]);
export type LoadResult = z.infer<typeof resultSchema>;

export const answerSchema = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), result: resultSchema }),
  z.strictObject({ ok: z.literal(false), reason: z.string() }),
]);
