/**
 * The configuration file (`fermata.yaml`): the pool of replicas, the policy of the scheduler, the tool
 * servers of sub-agents and the callers. Parsed once; every part gets the complete, defaulted value.
 * Reading the file and its YAML happens at the edge, not here.
 */
import { z } from 'zod';
import { replicaIdSchema } from './ids.ts';

export const engineSchema = z.enum(['vllm', 'sglang', 'llamacpp', 'tgi', 'trtllm', 'ollama', 'none']);
export type Engine = z.infer<typeof engineSchema>;

/** What a replica can be asked for. `classify` is what one-shot replicas serve. */
export const apiSchema = z.enum([
  'chat',
  'completions',
  'responses',
  'messages',
  'embeddings',
  'rerank',
  'score',
  'classify',
]);
export type Api = z.infer<typeof apiSchema>;

/** Whether its requests are turns of runs: what has no conversation has no affinity and no pause. */
export function keepsRunState(api: Api): boolean {
  return api !== 'embeddings' && api !== 'rerank' && api !== 'score' && api !== 'classify';
}

const httpUrlSchema = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .transform((url) => url.replace(/\/+$/, ''));

const environmentNameSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable');

export const replicaConfigSchema = z.strictObject({
  id: replicaIdSchema,
  /** Root of the engine; `/v1/...` is added. */
  url: httpUrlSchema,
  engine: engineSchema.default('none'),
  kind: z.enum(['generative', 'one-shot']).default('generative'),
  /** Model names; absent: asked from the replica's `/v1/models`. */
  models: z.array(z.string().min(1)).min(1).optional(),
  /** Absent: asked from the replica; what it does not tell is settled by {@link servedApis}. */
  apis: z.array(apiSchema).min(1).optional(),
  apiKeyEnv: environmentNameSchema.optional(),
  healthPath: z.string().startsWith('/').default('/health'),
  /** Engines behind `url` when that is a router: their metrics are read instead. */
  loadFrom: z.array(httpUrlSchema).min(1).optional(),
  /** Most turns in flight at once; absent: what the engine's own queue says. */
  maxConcurrent: z.int().min(1).optional(),
  /** Whether its models take images in a conversation; a model does only if all its replicas say so. */
  images: z.boolean().default(false),
  /** `latency`: turns in flight are limited by the time to the first byte; for engines without metrics. */
  limit: z.enum(['latency']).optional(),
});
export type ReplicaConfig = z.infer<typeof replicaConfigSchema>;

export const policySchema = z.strictObject({
  /** `residency` counts the contexts of live runs; `engine-load` only looks at the engine's own queue. */
  admission: z.enum(['residency', 'engine-load']).default('residency'),
  /** What is evened out between callers: turns in flight, or tokens served. */
  fairness: z.enum(['inflight', 'tokens']).default('inflight'),
  /** Milliseconds for which a paused run keeps its place on its replica, by class. */
  pauseReservationMs: z
    .strictObject({
      interactive: z.int().min(0).default(15_000),
      batch: z.int().min(0).default(5_000),
    })
    .prefault({}),
  /** A turn held longer counts as interactive. */
  maxBatchHoldMs: z.int().min(0).default(600_000),
  /** Share of admissions of new runs that go to batch turns while some wait. */
  batchShare: z.number().min(0).max(1).default(0.1),
  /** Held turns above this are rejected with `overloaded`. */
  maxHeld: z.int().min(1).default(100_000),
  /** Milliseconds without a byte after which a stream counts as failed. */
  streamIdleMs: z.int().min(1_000).default(300_000),
});
export type Policy = z.infer<typeof policySchema>;

const toolServerLimitsShape = {
  /** Milliseconds a call may pass without progress. */
  idleTimeoutMs: z.int().min(1).default(60_000),
  /** Milliseconds a call may take in all. */
  totalTimeoutMs: z.int().min(1).default(600_000),
};

export const toolServerSchema = z.union(
  [
    z.strictObject({
      type: z.literal('stdio').optional(),
      command: z.string().min(1),
      args: z.array(z.string()).default([]),
      env: z.record(z.string(), z.string()).default({}),
      cwd: z.string().optional(),
      ...toolServerLimitsShape,
    }),
    z.strictObject({
      type: z.literal('http').optional(),
      url: httpUrlSchema,
      headers: z.record(z.string(), z.string()).default({}),
      ...toolServerLimitsShape,
    }),
  ],
  'must have either `command` (a program of this machine) or `url` (an MCP server over HTTP)',
);
export type ToolServerConfig = z.infer<typeof toolServerSchema>;

/** Limits a minute; an absent one does not limit. Enforced by the proxies, per caller. */
export const rateLimitsSchema = z.strictObject({
  requestsPerMinute: z.int().min(1).optional(),
  /** Prompt tokens: an estimate on arrival, put right by what the engine reports. */
  inputTokensPerMinute: z.int().min(1).optional(),
  /** Known only when a reply has ended: the request after the one that reached the limit is refused. */
  outputTokensPerMinute: z.int().min(1).optional(),
});
export type RateLimits = z.infer<typeof rateLimitsSchema>;

/** Most that a limit on runs at work may be set to. */
export const largestMaxRunning = 100_000;

/** The entry of `callers` whose limits hold for everyone without an entry of their own. */
export const everyCaller = '*';

export const callerConfigSchema = rateLimitsSchema.extend({
  /** Places in flight per unit of weight are what fairness evens out. */
  weight: z.number().positive().default(1),
  /** Spawned runs it may have at work at once; absent: as `FERMATA_MAX_RUNS` says. */
  maxRunning: z.int().min(1).max(largestMaxRunning).optional(),
});
export type CallerConfig = z.infer<typeof callerConfigSchema>;

export const configFileSchema = z.strictObject({
  pool: z
    .array(replicaConfigSchema)
    .min(1, 'must name at least one replica')
    .refine((pool) => new Set(pool.map((replica) => replica.id)).size === pool.length, {
      error: 'two replicas have the same id',
    }),
  policy: policySchema.prefault({}),
  tools: z
    .strictObject({
      mcpServers: z
        .record(
          z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be 1 to 64 letters, digits, "_", "." or "-"'),
          toolServerSchema,
        )
        .default({}),
    })
    .prefault({}),
  callers: z.record(z.string().min(1).max(128), callerConfigSchema).default({}),
});
export type ConfigFile = z.infer<typeof configFileSchema>;
export type ToolServers = ConfigFile['tools']['mcpServers'];
export type Callers = ConfigFile['callers'];

/**
 * What a replica serves: what its entry says, else what it told when it was asked, else what its kind
 * is there for.
 * @param told null when it has not told.
 */
export function servedApis(
  replica: Pick<ReplicaConfig, 'kind' | 'apis'>,
  told: readonly Api[] | null = null,
): readonly Api[] {
  return replica.apis ?? told ?? (replica.kind === 'one-shot' ? ['classify'] : ['chat']);
}

/** One line per fault, each with its path, such as `pool[0].url: must be an http:// or https:// address`. */
export function describeFaults(error: z.ZodError): string[] {
  return describeIssues(error.issues).map(({ line }) => line);
}

export interface DescribedIssue {
  /** Where it is; of a key that is not known, the key. */
  readonly path: readonly PropertyKey[];
  readonly line: string;
}

/** The same, with the path as data beside it. */
export function describeIssues(issues: readonly z.core.$ZodIssue[]): DescribedIssue[] {
  return issues.flatMap(clearestIssues).map((issue) => {
    const path = issue.path.map(pathStep).join('');
    const [unknownKey] = issue.code === 'unrecognized_keys' ? issue.keys : [];
    return {
      path: unknownKey === undefined ? issue.path : [...issue.path, unknownKey],
      line: path === '' ? issue.message : `${path}: ${issue.message}`,
    };
  });
}

function pathStep(step: PropertyKey, index: number): string {
  return typeof step === 'number' ? `[${step}]` : `${index > 0 ? '.' : ''}${String(step)}`;
}

/** Of something that fits none of several forms: what keeps it from the one that it is nearest to. */
function clearestIssues(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const fewest = Math.min(...issue.errors.map((errors) => errors.length));
  const nearest = issue.errors.filter((errors) => errors.length === fewest);
  const [only] = nearest;
  if (only === undefined || nearest.length > 1) return [issue];
  return only.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })).flatMap(clearestIssues);
}
