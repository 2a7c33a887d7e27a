/** Sub-agents as load: spawned all at once over MCP, as an agent would, and awaited together. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { packageVersion } from '../../mcp-server/runs/package-version.ts';
import { CommandFault } from '../exit-codes.ts';
import { quantiles, type Quantiles } from './load-report.ts';

export interface SpawnLoad {
  readonly runs: number;
  readonly task: string;
  readonly serviceClass: 'interactive' | 'batch';
  readonly model: string | null;
  readonly caller: string | null;
}

export interface SpawnReport {
  readonly runs: number;
  readonly byStatus: Readonly<Record<string, number>>;
  /** Until all handles were there. */
  readonly spawnMs: number;
  /** From the first spawn to the end of the last run. */
  readonly totalMs: number;
  /** From the first spawn to when the end of each run was told. */
  readonly endMs: Quantiles;
  readonly turns: number;
  readonly toolCalls: number;
  readonly tokens: number;
  readonly cachedShare: number | null;
}

const usageSchema = z.looseObject({
  turns: z.number(),
  promptTokens: z.number(),
  completionTokens: z.number(),
  cachedTokens: z.number(),
});
const awaitedSchema = z.looseObject({
  runs: z.array(
    z.looseObject({ handle: z.string(), status: z.string(), toolCalls: z.number(), usage: usageSchema }),
  ),
});
type AwaitedRun = z.infer<typeof awaitedSchema>['runs'][number];
const answerSchema = z.looseObject({
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).default([]),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
});

const spawnedAtOnce = 16;
const waitSeconds = 45;
const final = new Set(['Completed', 'Failed', 'Cancelled']);

export async function runSpawned(
  load: SpawnLoad,
  target: {
    /** Of the MCP endpoint. */
    readonly mcpUrl: string;
    readonly token: string | null;
    readonly interrupted: AbortSignal;
    readonly onEnd: (ended: number) => void;
  },
): Promise<SpawnReport> {
  const client = new Client({ name: 'fermata-loadgen', version: packageVersion });
  const headers = {
    ...(target.token === null ? {} : { authorization: `Bearer ${target.token}` }),
    ...(load.caller === null ? {} : { 'x-fermata-caller': load.caller }),
  };
  await client
    .connect(new StreamableHTTPClientTransport(new URL(target.mcpUrl), { requestInit: { headers } }))
    .catch((error: unknown) => {
      throw new CommandFault(
        `no MCP server answers at ${target.mcpUrl} (${(error as Error).message}); start it with \`npm start\`, or name it with --url`,
        1,
        { cause: error },
      );
    });
  const call = async (name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const answer = answerSchema.parse(
      await client.callTool({ name, arguments: args }, { timeout: 120_000, signal: target.interrupted }),
    );
    if (answer.isError !== true) return answer.structuredContent ?? {};
    throw new CommandFault(`${name}: ${answer.content.map(({ text }) => text ?? '').join(' ')}`);
  };
  try {
    return await measure(load, call, target.onEnd);
  } finally {
    await client.close();
  }
}

type Call = (name: string, args: Record<string, unknown>) => Promise<Record<string, unknown>>;

async function measure(load: SpawnLoad, call: Call, onEnd: (ended: number) => void): Promise<SpawnReport> {
  const startedMs = performance.now();
  const handles = await spawnAll(load, call);
  const spawnMs = performance.now() - startedMs;
  const ended = new Map<string, { readonly run: AwaitedRun; readonly atMs: number }>();
  while (ended.size < handles.length) {
    const open = handles.filter((handle) => !ended.has(handle)).slice(0, 100);
    const { runs } = awaitedSchema.parse(
      await call('await', { handles: open, mode: 'any', timeoutSeconds: waitSeconds }),
    );
    for (const run of runs) {
      if (final.has(run.status)) ended.set(run.handle, { run, atMs: performance.now() - startedMs });
    }
    onEnd(ended.size);
    if (open.length > 0 && runs.length > 0 && runs.every(({ status }) => status === 'AwaitingApproval')) {
      throw new CommandFault('all runs that are left wait for approval; give a task that needs none');
    }
  }
  return reportOf([...ended.values()], spawnMs, performance.now() - startedMs);
}

async function spawnAll(load: SpawnLoad, call: Call): Promise<string[]> {
  const handles: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < load.runs) {
      next += 1;
      const spawned = await call('spawn', {
        task: load.task.replaceAll('{n}', String(next)),
        serviceClass: load.serviceClass,
        ...(load.model === null ? {} : { model: load.model }),
      });
      handles.push(z.string().parse(spawned['handle']));
    }
  };
  await Promise.all(Array.from({ length: spawnedAtOnce }, worker));
  return handles;
}

function reportOf(
  ended: readonly { readonly run: AwaitedRun; readonly atMs: number }[],
  spawnMs: number,
  totalMs: number,
): SpawnReport {
  const sum = (of: (run: AwaitedRun) => number): number => ended.reduce((all, { run }) => all + of(run), 0);
  const byStatus: Record<string, number> = {};
  for (const { run } of ended) byStatus[run.status] = (byStatus[run.status] ?? 0) + 1;
  const prompts = sum(({ usage }) => usage.promptTokens);
  return {
    runs: ended.length,
    byStatus,
    spawnMs,
    totalMs,
    endMs: quantiles(ended.map(({ atMs }) => atMs)),
    turns: sum(({ usage }) => usage.turns),
    toolCalls: sum(({ toolCalls }) => toolCalls),
    tokens: sum(({ usage }) => usage.promptTokens + usage.completionTokens),
    cachedShare: prompts === 0 ? null : sum(({ usage }) => usage.cachedTokens) / prompts,
  };
}
