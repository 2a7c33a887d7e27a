/** Runs of the bench: scripted tasks, spawned and awaited through the MCP server as any client does it. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ToolClient } from '../mcp-clients.ts';

const spawnedSchema = z.looseObject({ handle: z.string() });
const awaitedSchema = z.looseObject({
  runs: z.array(z.looseObject({ handle: z.string(), status: z.string(), toolCalls: z.number() })),
});

export interface RunPlan {
  /** Tool calls, one a turn; then the answer. */
  readonly steps: number;
  readonly tool: 'lookup' | 'deep_search';
}

const toolArguments = {
  lookup: { topic: 'the harbour of an old town' },
  deep_search: { query: 'trade along an old river', depth: 10 },
} as const;

export interface SpawnedRun {
  readonly handle: string;
  /** What its task begins with: the proxy tells an engine no run ids. */
  readonly tag: string;
}

/** The task of a run; all tasks of one tool have the same length. */
export function taskOf(tag: string, { steps, tool }: RunPlan): string {
  const script = { calls: [{ tool, arguments: toolArguments[tool] }], answer: 'Done.' };
  const repeat = String(steps).padStart(6, ' ');
  return `${tag}: find out what the sources say. [[sim ${JSON.stringify(script).slice(0, -1)},"repeat":${repeat}}]]`;
}

export function newTag(): string {
  return randomBytes(8).toString('hex');
}

export async function spawnRun(client: ToolClient, plan: RunPlan, tag = newTag()): Promise<SpawnedRun> {
  const request = { task: taskOf(tag, plan), maxToolCalls: plan.steps + 1 };
  return { handle: spawnedSchema.parse(await client.call('spawn', request)).handle, tag };
}

const requestSchema = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
});

/** Of which run and which turn a request is, by its messages; null: of none of this bench. */
export function turnOfRequest(body: unknown): { readonly tag: string; readonly turn: number } | null {
  const request = requestSchema.safeParse(body);
  if (!request.success) return null;
  const { messages } = request.data;
  const task = messages.find(({ role }) => role === 'user')?.content;
  const tag = typeof task === 'string' ? /^([0-9a-f]{16}): /.exec(task)?.[1] : undefined;
  if (tag === undefined) return null;
  return { tag, turn: messages.filter(({ role }) => role === 'assistant').length + 1 };
}

const awaitSeconds = 45;
const mostRounds = 40;

/** @throws Error when one of them does not complete with its `steps` tool calls, or not within half an hour. */
export async function awaitRuns(
  client: ToolClient,
  runs: readonly SpawnedRun[],
  { steps }: RunPlan,
): Promise<void> {
  const open = new Set(runs.map(({ handle }) => handle));
  for (let round = 0; round < mostRounds && open.size > 0; round += 1) {
    const answer = await client.call('await', { handles: [...open], timeoutSeconds: awaitSeconds });
    for (const { handle, status, toolCalls } of awaitedSchema.parse(answer).runs) {
      if (status === 'Running') continue;
      if (status !== 'Completed' || toolCalls !== steps) {
        throw new Error(`${handle} ended as ${status} after ${toolCalls} of ${steps} tool calls`);
      }
      open.delete(handle);
    }
  }
  if (open.size > 0) throw new Error(`${open.size} runs did not end`);
}
