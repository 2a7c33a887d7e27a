/**
 * A client as a user's agent is one: spawns a run and awaits it, over connections that break at any moment.
 * Whatever fails it asks again, with the same request id or handle, and writes down how often.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { ToolClient } from '../mcp-clients.ts';
import type { ObservedRun, Recorder } from './recorder.ts';
import { planRun, type PlannedRun } from './workload.ts';

/** A client that may be served by one of several mcp-servers. */
export interface ServedClient extends ToolClient {
  /** Whom its last request went to; null: there is only one, or it went nowhere. */
  server(): string | null;
}

export interface ClientDeps {
  readonly connect: () => Promise<ServedClient>;
  /** A call that says nothing for longer is made again. */
  readonly callTimeoutMs: number;
  readonly recorder: Recorder;
  readonly seed: number;
  /** Waited for before each run. */
  readonly mayGoOn?: () => Promise<void>;
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
      pendingApprovals: z.array(z.looseObject({ id: z.string() })).default([]),
    }),
  ),
});

const awaitSeconds = 6;
const pauseMs = 250;
const endStatuses = ['Completed', 'Failed', 'Cancelled'];

/** Runs one run after the other until no more are wanted; resolves when the last has ended or is given up. */
export async function runClient(deps: ClientDeps): Promise<void> {
  const link = createLink(deps);
  try {
    for (let index = deps.nextIndex(); index !== null; index = deps.nextIndex()) {
      await deps.mayGoOn?.();
      await runPlan(planRun(index, deps.seed), null, link, deps);
    }
  } finally {
    await link.close();
  }
}

/** Spawns a run and those below it and awaits them all, the run itself last. */
async function runPlan(
  plan: PlannedRun,
  parent: string | null,
  link: Link,
  deps: ClientDeps,
): Promise<ObservedRun[]> {
  const run: ObservedRun = {
    plan,
    startMs: Date.now(),
    handle: null,
    endMs: null,
    status: null,
    result: null,
    reason: null,
  };
  deps.recorder.runs.push(run);
  const spawned = await link.call('spawn', { ...plan.request, ...(parent === null ? {} : { parent }) });
  if (spawned === null) return [run];
  run.handle = spawnedSchema.parse(spawned).handle;
  const family = [run];
  for (const child of plan.below) family.push(...(await runPlan(child, run.handle, link, deps)));
  if (parent === null) await awaitRuns(family, link, deps.giveUp);
  return family;
}

/** Approves whatever waits for it on the way. */
async function awaitRuns(runs: readonly ObservedRun[], link: Link, giveUp: AbortSignal): Promise<void> {
  while (!giveUp.aborted) {
    const handles = runs.flatMap(({ handle, endMs }) => (handle === null || endMs !== null ? [] : [handle]));
    if (handles.length === 0) return;
    const awaited = await link.call('await', { handles, mode: 'any', timeoutSeconds: awaitSeconds });
    if (awaited === null) return;
    for (const view of awaitedSchema.parse(awaited).runs) {
      for (const { id } of view.pendingApprovals) {
        await link.call('approve', { handle: view.handle, approvalId: id, allow: true });
      }
      const run = runs.find(({ handle }) => handle === view.handle);
      if (run === undefined || !endStatuses.includes(view.status)) continue;
      run.status = view.status;
      run.result = view.result ?? null;
      run.reason = view.reason ?? null;
      run.endMs = Date.now();
    }
  }
}

interface Link {
  /** The tool's answer, asked for until it comes; null: given up. */
  call(tool: string, args: Record<string, unknown>): Promise<Record<string, unknown> | null>;
  close(): Promise<void>;
}

function createLink({ connect, callTimeoutMs, recorder, giveUp }: ClientDeps): Link {
  let client: ServedClient | null = null;
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
          const server = client?.server() ?? null;
          recorder.clientCalls.push({ tool, server, startMs, endMs: Date.now(), failure });
        };
        try {
          client ??= await connect();
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
