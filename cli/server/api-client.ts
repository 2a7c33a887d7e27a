/**
 * The run API from the outside: one method a route, answers parsed by the schemas that the server answers
 * with. Every call has a time limit; every failure says what to do.
 */
import { z } from 'zod';
import { decideResponseSchema, type DecideRequest } from '../../contracts/decide.ts';
import { requestHeaders } from '../../contracts/headers.ts';
import { decidedApprovalSchema, runStatusSchema } from '../../contracts/run.ts';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import { toolListingSchema } from '../../contracts/tool-listing.ts';
import { poolNewsSchema } from '../../mcp-server/api/pool-routes.ts';
import { runDetailSchema, runSummarySchema, treeSchema } from '../../mcp-server/api/run-bodies.ts';
import { CommandFault } from '../exit-codes.ts';
import type { Where } from './where.ts';

const spawnedSchema = z.object({
  handle: z.string(),
  status: runStatusSchema,
  existing: z.boolean(),
  notes: z.array(z.string()),
});
const pageSchema = z.object({ runs: z.array(runSummarySchema), nextCursor: z.string().nullable() });
const entrySchema = z.object({
  index: z.number(),
  role: z.string(),
  content: z.string().nullable(),
  cutFromBytes: z.number().nullable(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })),
  toolCallId: z.string().nullable(),
  images: z.array(z.object({ mimeType: z.string(), bytes: z.number() })),
});
const transcriptSchema = z.object({
  total: z.number(),
  entries: z.array(entrySchema),
  nextOffset: z.number().nullable(),
});
const approvedSchema = z.object({
  handle: z.string(),
  decided: decidedApprovalSchema,
  status: runStatusSchema,
});
const cancelledSchema = z.object({
  handle: z.string(),
  reached: z.number(),
  status: runStatusSchema,
  later: z.boolean(),
});
const poolSchema = poolNewsSchema.extend({
  runs: schedulerStatusSchema.shape.runs,
  policy: schedulerStatusSchema.shape.policy,
});
const meSchema = z.object({
  caller: z.string(),
  seesAll: z.boolean(),
  classCeiling: z.string().nullable(),
  version: z.string(),
  temporalNamespace: z.string(),
});
const refusalSchema = z.object({ error: z.object({ message: z.string(), code: z.string() }) });

export type Spawned = z.infer<typeof spawnedSchema>;
export type TranscriptEntry = z.infer<typeof entrySchema>;
export type Pool = z.infer<typeof poolSchema>;
export type RunDetail = z.infer<typeof runDetailSchema>;
export type Tree = z.infer<typeof treeSchema>;

const callTimeoutMs = 30_000;

interface Request {
  readonly method?: 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

export interface ApiClient {
  readonly url: string;
  me(): Promise<z.infer<typeof meSchema>>;
  spawn(request: Readonly<Record<string, unknown>>): Promise<Spawned>;
  /** @param waitSeconds at most 60; answers earlier when the run has ended or waits for approval. */
  run(handle: string, waitSeconds?: number, signal?: AbortSignal): Promise<RunDetail>;
  runs(
    filter: Readonly<Record<string, string | readonly string[] | undefined>>,
  ): Promise<z.infer<typeof pageSchema>>;
  tree(handle: string): Promise<Tree>;
  transcript(handle: string, offset: number, full: boolean): Promise<z.infer<typeof transcriptSchema>>;
  cancel(handle: string, reason: string | undefined): Promise<z.infer<typeof cancelledSchema>>;
  approve(handle: string, id: string, allow: boolean): Promise<z.infer<typeof approvedSchema>>;
  pool(): Promise<Pool>;
  tools(): Promise<z.infer<typeof toolListingSchema>>;
  decide(request: DecideRequest): Promise<z.infer<typeof decideResponseSchema>>;
  /** The stream of events, open; its body is the caller's to read or cancel. */
  events(signal: AbortSignal): Promise<Response>;
}

export function createApiClient({ url, token, caller }: Where): ApiClient {
  const headers = {
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(caller === null ? {} : { [requestHeaders.caller[0]]: caller }),
  };
  const send = async (path: string, init: Request): Promise<Response> => {
    try {
      return await fetch(`${url}/api${path}`, { ...init, headers: { ...headers, ...init.headers } });
    } catch (error) {
      throw unreachable(url, error);
    }
  };
  const ask = async <T>(schema: z.ZodType<T>, path: string, init: Request = {}, waitMs = 0): Promise<T> => {
    const limit = AbortSignal.timeout(callTimeoutMs + waitMs);
    const signal = init.signal !== undefined ? AbortSignal.any([init.signal, limit]) : limit;
    const response = await send(path, { ...init, signal });
    const text = await response.text().catch((error: unknown) => {
      throw unreachable(url, error);
    });
    return readAnswer(schema, response, text, url);
  };
  const post = async <T>(schema: z.ZodType<T>, path: string, body: unknown): Promise<T> =>
    await ask(schema, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const of = (handle: string): string => `/runs/${encodeURIComponent(handle)}`;
  return {
    url,
    me: async () => await ask(meSchema, '/me'),
    spawn: async (request) => await post(spawnedSchema, '/runs', request),
    run: async (handle, waitSeconds = 0, signal = new AbortController().signal) =>
      await ask(
        runDetailSchema,
        `${of(handle)}${waitSeconds === 0 ? '' : `?waitSeconds=${waitSeconds}`}`,
        { signal },
        waitSeconds * 1_000,
      ),
    runs: async (filter) => await ask(pageSchema, `/runs?${queryOf(filter)}`),
    tree: async (handle) => await ask(treeSchema, `/tree/${encodeURIComponent(handle)}`),
    transcript: async (handle, offset, full) =>
      await ask(transcriptSchema, `${of(handle)}/transcript?offset=${offset}&full=${full}`),
    cancel: async (handle, reason) =>
      await post(cancelledSchema, `${of(handle)}/cancel`, reason === undefined ? {} : { reason }),
    approve: async (handle, id, allow) =>
      await post(approvedSchema, `${of(handle)}/approvals/${encodeURIComponent(id)}`, { allow }),
    pool: async () => await ask(poolSchema, '/pool'),
    tools: async () => await ask(toolListingSchema, '/tools'),
    decide: async (request) => await post(decideResponseSchema, '/decide', request),
    events: async (signal) => {
      const response = await send('/events', { signal });
      if (!response.ok) readAnswer(z.never(), response, await response.text(), url);
      return response;
    },
  };
}

function queryOf(filter: Readonly<Record<string, string | readonly string[] | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (value !== undefined) query.set(name, typeof value === 'string' ? value : value.join(','));
  }
  return query.toString();
}

/** @throws CommandFault with the server's own words, or with what answers there instead of fermata. */
function readAnswer<T>(schema: z.ZodType<T>, response: Response, text: string, url: string): T {
  const body = parseJson(text);
  const refused = refusalSchema.safeParse(body);
  if (refused.success) {
    const hint = response.status === 401 ? '; set FERMATA_TOKEN to a token that it knows' : '';
    throw new CommandFault(`${refused.data.error.message}${hint}`);
  }
  const parsed = schema.safeParse(body);
  if (response.ok && parsed.success) return parsed.data;
  throw new CommandFault(
    `what answers at ${url} is not this version of fermata (HTTP ${response.status}); name the address of its mcp-server with --url or FERMATA_MCP_URL`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function unreachable(url: string, error: unknown): Error {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CommandFault(`${url} did not answer in time; \`fermata doctor\` looks for the reason`, 1, {
      cause: error,
    });
  }
  if (error instanceof Error && error.name === 'AbortError') return error;
  const why = (error as { cause?: { code?: string } }).cause?.code ?? (error as Error).message;
  return new CommandFault(
    `no fermata answers at ${url} (${why}); start it with \`npm start\`, or name its address with --url or FERMATA_MCP_URL`,
    1,
    { cause: error },
  );
}
