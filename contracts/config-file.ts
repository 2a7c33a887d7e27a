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

// What is described here is shown by editors (docs/fermata.schema.json) and in docs/reference/configuration.md.
export const replicaConfigSchema = z.strictObject({
  id: replicaIdSchema.describe('Name of the replica, once in the pool.'),
  url: httpUrlSchema.describe('Root of the engine; `/v1/...` is added.'),
  engine: engineSchema
    .default('none')
    .describe('How load and memory are asked for; `none`: only whether it is healthy.'),
  kind: z
    .enum(['generative', 'one-shot'])
    .default('generative')
    .describe('`one-shot`: a classifier or embedder; keeps no run and waits for no generative place.'),
  models: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('Names of its models; absent: asked from its `/v1/models`.'),
  apis: z
    .array(apiSchema)
    .min(1)
    .optional()
    .describe('Endpoints it serves; absent: asked from it, else what its kind is there for.'),
  apiKeyEnv: environmentNameSchema
    .optional()
    .describe('Environment variable of the services that holds its key.'),
  healthPath: z
    .string()
    .regex(/^\//, 'must begin with "/"')
    .default('/health')
    .describe('Asked every two seconds.'),
  loadFrom: z
    .array(httpUrlSchema)
    .min(1)
    .optional()
    .describe('Engines behind `url` when that is a router: their metrics are read instead.'),
  maxConcurrent: z
    .int()
    .min(1)
    .optional()
    .describe("Most turns in flight at once; absent: what the engine's own queue says."),
  kvCacheTokens: z
    .int()
    .min(1)
    .optional()
    .describe('Tokens of KV memory over all requests; absent: as the engine tells, else learned.'),
  images: z
    .boolean()
    .default(false)
    .describe('Its models take images in a conversation; a model does only if all its replicas say so.'),
  limit: z
    .enum(['latency'])
    .optional()
    .describe(
      '`latency`: turns in flight are limited by the time to the first byte; for engines without metrics.',
    ),
});
export type ReplicaConfig = z.infer<typeof replicaConfigSchema>;

export const policySchema = z.strictObject({
  admission: z
    .enum(['residency', 'engine-load'])
    .default('residency')
    .describe(
      "`residency` counts the contexts of live runs; `engine-load` only looks at the engine's own queue.",
    ),
  fairness: z
    .enum(['inflight', 'tokens'])
    .default('inflight')
    .describe('What is evened out between callers: turns in flight, or tokens served.'),
  pauseReservationMs: z
    .strictObject({
      interactive: z.int().min(0).default(15_000).describe('For interactive runs.'),
      batch: z.int().min(0).default(5_000).describe('For batch runs.'),
    })
    .prefault({})
    .describe('Milliseconds for which a run that waits for its tools keeps its place on its replica.'),
  maxBatchHoldMs: z
    .int()
    .min(0)
    .default(600_000)
    .describe('Milliseconds; a batch turn held longer counts as interactive.'),
  batchShare: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe('Share of admissions of new runs that go to batch turns while some wait.'),
  maxHeld: z.int().min(1).default(100_000).describe('Held turns above this are rejected with `overloaded`.'),
  streamIdleMs: z
    .int()
    .min(1_000)
    .default(300_000)
    .describe('Milliseconds without a byte after which a stream counts as failed.'),
});
export type Policy = z.infer<typeof policySchema>;

const toolServerLimitsShape = {
  idleTimeoutMs: z.int().min(1).default(60_000).describe('Milliseconds a call may pass without progress.'),
  totalTimeoutMs: z.int().min(1).default(600_000).describe('Milliseconds a call may take in all.'),
};

export const toolServerSchema = z.union(
  [
    z.strictObject({
      type: z.literal('stdio').optional().describe('May be left out.'),
      command: z.string().min(1).describe('A program of the machine of the worker, which starts it.'),
      args: z.array(z.string()).default([]).describe('Its arguments.'),
      env: z
        .record(z.string(), z.string())
        .default({})
        .describe('Environment variables beside a few safe ones such as PATH and HOME.'),
      cwd: z.string().optional().describe('Its working directory; absent: that of the worker.'),
      ...toolServerLimitsShape,
    }),
    z.strictObject({
      type: z.literal('http').optional().describe('May be left out.'),
      url: httpUrlSchema.describe('Address of an MCP server over HTTP.'),
      headers: z.record(z.string(), z.string()).default({}).describe('Sent with every request.'),
      ...toolServerLimitsShape,
    }),
  ],
  'must have either `command` (a program of this machine) or `url` (an MCP server over HTTP)',
);
export type ToolServerConfig = z.infer<typeof toolServerSchema>;

/** Limits a minute; an absent one does not limit. Enforced by the proxies, per caller. */
export const rateLimitsSchema = z.strictObject({
  requestsPerMinute: z.int().min(1).optional().describe('Requests a minute at the proxy.'),
  inputTokensPerMinute: z
    .int()
    .min(1)
    .optional()
    .describe('Prompt tokens a minute: an estimate on arrival, put right by what the engine reports.'),
  outputTokensPerMinute: z
    .int()
    .min(1)
    .optional()
    .describe('Tokens of replies a minute: the request after the one that reached the limit is refused.'),
});
export type RateLimits = z.infer<typeof rateLimitsSchema>;

/** Most that a limit on runs at work may be set to. */
export const largestMaxRunning = 100_000;

/** The entry of `callers` whose limits hold for everyone without an entry of their own. */
export const everyCaller = '*';

export const callerConfigSchema = rateLimitsSchema.extend({
  weight: z
    .number()
    .positive()
    .default(1)
    .describe('Places in flight per unit of weight are what fairness evens out.'),
  maxRunning: z
    .int()
    .min(1)
    .max(largestMaxRunning)
    .optional()
    .describe('Spawned runs it may have at work at once; absent: as `FERMATA_MAX_RUNS` says.'),
});
export type CallerConfig = z.infer<typeof callerConfigSchema>;

export const configFileSchema = z.strictObject({
  pool: z
    .array(replicaConfigSchema)
    .min(1, 'must name at least one replica')
    .refine((pool) => new Set(pool.map((replica) => replica.id)).size === pool.length, {
      error: 'two replicas have the same id',
    })
    .describe('The engines. Their order breaks ties of placement.'),
  policy: policySchema.prefault({}).describe('How turns are admitted.'),
  tools: z
    .strictObject({
      mcpServers: z
        .record(
          z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be 1 to 64 letters, digits, "_", "." or "-"'),
          toolServerSchema,
        )
        .default({})
        .describe('MCP servers by name, as MCP clients write them.'),
    })
    .prefault({})
    .describe('The tools that sub-agents may use.'),
  callers: z
    .record(z.string().min(1).max(128), callerConfigSchema)
    .default({})
    .describe('Weights and limits by caller; `*` stands for everyone without an entry of their own.'),
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
