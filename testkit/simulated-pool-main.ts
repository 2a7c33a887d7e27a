/**
 * Simulated engines and the fake tool server in one process, for the embedded default pool and for tests:
 * `node --import tsx testkit/simulated-pool-main.ts ['{JSON}']`, or the JSON in `SIMULATED_POOL`. Its fields
 * are in poolSchema below; without any: replicas `sim-a` and `sim-b` and a tool server, on free ports.
 *
 * Prints one JSON line on stdout when all of them listen:
 * `{"ready": true, "engines": [{"id", "url", "model", "dialect", "kind"}], "toolServer": {"url"} | null}`.
 * Stops on SIGTERM and SIGINT, and with `closeWithStdin` also when its stdin closes, so that it never
 * outlives its parent. A configuration that cannot be read: one line on stderr, exit 1.
 */
import { z } from 'zod';
import { apiSchema } from '../contracts/config-file.ts';
import { callShapes } from './sim-engine/core/directives.ts';
import { startSimEngine, type SimEngine, type SimEngineOptions } from './sim-engine/host.ts';
import { dialects } from './sim-engine/metrics-text.ts';
import { startToolServer, type ToolServer, type ToolServerOptions } from './tool-server/host.ts';

const portSchema = z.int().min(0).max(65_535);

const engineSchema = z.strictObject({
  id: z.string().min(1),
  port: portSchema.default(0),
  model: z.string().min(1).default('sim-small'),
  dialect: z.enum(dialects).default('vllm'),
  kind: z.enum(['generative', 'one-shot']).default('generative'),
  /** Default: those of its kind. */
  apis: z.array(apiSchema).min(1).optional(),
  openApi: z.boolean().optional(),
  /** What a one-shot engine tells apart. */
  labels: z.array(z.string().min(1)).min(2).optional(),
  classifyMs: z.number().min(0).optional(),
  /** Real milliseconds for one of the engine's. */
  timeScale: z.number().min(0).optional(),
  callIds: z.enum(['unique', 'short']).optional(),
  earlyHeaders: z.boolean().optional(),
  queueFullStatus: z.union([z.literal(429), z.literal(503)]).optional(),
  reportCachedTokens: z.boolean().optional(),
  apiKey: z.string().min(1).optional(),
  /** See EngineConfig in sim-engine/core/engine-config.ts. */
  engine: z
    .strictObject({
      totalBlocks: z.int().min(1).optional(),
      maxRunning: z.int().min(1).optional(),
      maxQueue: z.int().min(0).optional(),
      maxContextTokens: z.int().min(1).optional(),
      chunkTokens: z.int().min(1).optional(),
      prefillTokensPerSecond: z.number().positive().optional(),
      decodeBaseMs: z.number().min(0).optional(),
      decodePerRequestMs: z.number().min(0).optional(),
      jitter: z.number().min(0).max(1).optional(),
      seed: z.int().optional(),
    })
    .optional(),
  script: z
    .strictObject({
      seed: z.int().optional(),
      shapes: z.array(z.enum(callShapes)).min(1).optional(),
      avoidTools: z.array(z.string()).optional(),
    })
    .optional(),
});

const poolSchema = z.strictObject({
  host: z.string().default('127.0.0.1'),
  engines: z.array(engineSchema).default(() => ['sim-a', 'sim-b'].map((id) => engineSchema.parse({ id }))),
  /** null: none. */
  toolServer: z
    .strictObject({
      port: portSchema.optional(),
      callLogPath: z.string().min(1).optional(),
      delayScale: z.number().min(0).optional(),
    })
    .nullable()
    .default({}),
  closeWithStdin: z.boolean().default(false),
});

type Pool = z.infer<typeof poolSchema>;

function readPool(): Pool {
  const text = process.argv[2] ?? process.env['SIMULATED_POOL'] ?? '{}';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fail(`simulated pool: '${text.slice(0, 60)}' is not JSON`);
  }
  const parsed = poolSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return fail(`simulated pool: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'cannot be read'}`);
}

function fail(line: string): never {
  console.error(line);
  process.exit(1);
}

type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Without the fields that were not given: the engines' own defaults hold. */
function withoutUndefined<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}

const pool = readPool();
const engines: { id: string; kind: string; dialect: string; engine: SimEngine }[] = [];
let toolServer: ToolServer | null = null;
let closing = false;

async function close(): Promise<void> {
  if (closing) return;
  closing = true;
  await Promise.all([...engines.map(async ({ engine }) => await engine.close()), toolServer?.close()]);
  process.exit(0);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close());
if (pool.closeWithStdin) {
  process.stdin.resume();
  process.stdin.once('close', () => void close());
}
try {
  for (const { id, ...options } of pool.engines) {
    const engine = await startSimEngine({
      host: pool.host,
      ...(withoutUndefined(options) as SimEngineOptions),
    });
    engines.push({ id, kind: options.kind, dialect: options.dialect, engine });
  }
  if (pool.toolServer !== null) {
    toolServer = await startToolServer({
      host: pool.host,
      ...(withoutUndefined(pool.toolServer) as ToolServerOptions),
    });
  }
} catch (error) {
  fail(`simulated pool: ${error instanceof Error ? error.message : String(error)}`);
}
const lines = engines.map(({ id, kind, dialect, engine }) => ({
  id,
  url: engine.url,
  model: engine.model,
  dialect,
  kind,
}));
const tools = toolServer === null ? null : { url: toolServer.url };
process.stdout.write(`${JSON.stringify({ ready: true, engines: lines, toolServer: tools })}\n`);
