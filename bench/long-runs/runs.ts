/** Long runs, spawned and awaited through the MCP server as any client does it. */
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { chatMessageSchema, type ChatMessage } from '../../contracts/chat-messages.ts';
import { transcriptQuery } from '../../contracts/run.ts';
import { readChain, type Execution } from './chain.ts';
import type { Site } from './site.ts';

export interface LongRunPlan {
  /** Tool calls, one a turn; then the answer. */
  readonly calls: number;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface LongRun {
  readonly status: string;
  readonly reason: string | null;
  readonly turns: number;
  readonly toolCalls: number;
  readonly failedToolCalls: number;
  readonly seconds: number;
  readonly chain: readonly Execution[];
  readonly transcript: readonly ChatMessage[];
}

const spawnedSchema = z.looseObject({ handle: z.string() });
const awaitedSchema = z.looseObject({
  runs: z.tuple([
    z.looseObject({
      status: z.string(),
      reason: z.string().optional(),
      toolCalls: z.number(),
      failedToolCalls: z.number(),
      usage: z.looseObject({ turns: z.number() }),
    }),
  ]),
});

/** @throws Error when the run is not at its end within `limitMs`. */
export async function runLong(site: Site, plan: LongRunPlan, limitMs: number): Promise<LongRun> {
  const startedMs = performance.now();
  const script = {
    calls: [{ tool: plan.tool, arguments: plan.arguments }],
    repeat: plan.calls,
    answer: 'Done.',
  };
  const spawned = await site.client.call('spawn', {
    task: `Work for long. [[sim ${JSON.stringify(script)}]]`,
    maxToolCalls: 10_000,
  });
  const { handle } = spawnedSchema.parse(spawned);
  for (;;) {
    const answer = await site.client.call('await', { handles: [handle], timeoutSeconds: 30 });
    const [run] = awaitedSchema.parse(answer).runs;
    if (run.status !== 'Running') {
      return {
        status: run.status,
        reason: run.reason ?? null,
        turns: run.usage.turns,
        toolCalls: run.toolCalls,
        failedToolCalls: run.failedToolCalls,
        seconds: (performance.now() - startedMs) / 1_000,
        chain: await readChain(site.temporal, handle),
        transcript: await readTranscript(site.temporal, handle),
      };
    }
    if (performance.now() - startedMs > limitMs) {
      throw new Error(`${handle} is ${run.status} after ${run.usage.turns} turns and ${limitMs / 1_000} s`);
    }
  }
}

async function readTranscript(client: Client, run: string): Promise<readonly ChatMessage[]> {
  const messages: unknown = await client.workflow.getHandle(run).query(transcriptQuery);
  return z.array(chatMessageSchema).parse(messages);
}
