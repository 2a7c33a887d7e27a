/**
 * A client as a user's agent is one: spawns a run and awaits it, over connections that break at any moment.
 * Whatever fails it asks again, with the same request id or handle, and writes down how often.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { connectModern, type ToolClient } from '../mcp-clients.ts';
import type { ObservedRun, Recorder } from './recorder.ts';
import { planRun } from './workload.ts';

export interface ClientDeps {
  readonly mcpUrl: string;
  readonly recorder: Recorder;
  readonly seed: number;
  /** Number of the next run; null: no more are wanted. */
  readonly nextIndex: () => number | null;
  /** Aborted when runs that have not ended count as never ending. */
  readonly giveUp: AbortSignal;
}

const spawnedSchema = z.looseObject({ handle: z.string() });
const awaitedSchema = z.looseObject({
  runs: z.array(
    z.looseObject({
      handle: z.string(),
      status: z.string(),
      result: z.string().optional(),
      reason: z.string().optional(),
    }),
  ),
});

const awaitSeconds = 6;
/** A call that says nothing for longer is made again. */
const callTimeoutMs = 15_000;
const pauseMs = 250;
const endStatuses = ['Completed', 'Failed', 'Cancelled'];

/** Runs one run after the other until no more are wanted; resolves when the last has ended or is given up. */
export async function runClient(deps: ClientDeps): Promise<void> {
  const link = createLink(deps);
  try {
    for (;;) {
      const index = deps.nextIndex();
      if (index === null) return;
      const run: ObservedRun = {
        plan: planRun(index, deps.seed),
        startMs: Date.now(),
        handle: null,
        endMs: null,
        status: null,
        result: null,
        reason: null,
      };
      deps.recorder.runs.push(run);
      await followRun(run, link, deps.giveUp);
    }
  } finally {
    await link.close();
  }
}

async function followRun(run: ObservedRun, link: Link, giveUp: AbortSignal): Promise<void> {
  const spawned = await link.call('spawn', run.plan.request);
  if (spawned === null) return;
  const { handle } = spawnedSchema.parse(spawned);
  run.handle = handle;
  while (!giveUp.aborted) {
    const awaited = await link.call('await', { handles: [handle], timeoutSeconds: awaitSeconds });
    if (awaited === null) return;
    const [view] = awaitedSchema.parse(awaited).runs;
    if (view === undefined || !endStatuses.includes(view.status)) continue;
    run.status = view.status;
    run.result = view.result ?? null;
    run.reason = view.reason ?? null;
    run.endMs = Date.now();
    return;
  }
}

interface Link {
  /** The tool's answer, asked for until it comes; null: given up. */
  call(tool: string, args: Record<string, unknown>): Promise<Record<string, unknown> | null>;
  close(): Promise<void>;
}

function createLink({ mcpUrl, recorder, giveUp }: ClientDeps): Link {
  let client: ToolClient | null = null;
  const close = async (): Promise<void> => {
    const closing = client;
    client = null;
    await closing?.close().catch(() => undefined);
  };
  return {
    close,
    async call(tool, args) {
      while (!giveUp.aborted) {
        const startMs = Date.now();
        const ended = (failure: string | null): void => {
          recorder.clientCalls.push({ tool, startMs, endMs: Date.now(), failure });
        };
        try {
          client ??= await connectModern(mcpUrl);
          const answer = await client.call(tool, { ...args }, callTimeoutMs);
          ended(null);
          return answer;
        } catch (error) {
          ended(error instanceof Error ? error.message : String(error));
          await close();
          await delay(pauseMs);
        }
      }
      return null;
    },
  };
}
