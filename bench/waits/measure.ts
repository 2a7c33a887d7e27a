/**
 * Many clients that wait on one mcp-server, each for a run of its own: how long after the end of its run each has
 * its answer, and how much memory the server takes for them.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { HeldStream } from '../../testkit/sim-engine/holds.ts';
import { connectLegacy, connectModern, type ToolClient } from '../mcp-clients.ts';
import { awaitRuns, newTag, spawnRun, turnOfRequest, type SpawnedRun } from '../steps/runs.ts';
import type { Site } from '../steps/site.ts';

export interface WaitsPlan {
  /** Clients of each era; each waits for one run. */
  readonly clientsOfEachEra: number;
  /** Milliseconds between the ends of two runs; 0: all end at once. */
  readonly gapMs: number;
}

export interface Waits {
  /** From the end of a run, by Temporal's clock, to the answer at its client; one a client, in milliseconds. */
  readonly addedMs: readonly number[];
  /** Resident memory of the mcp-server in MiB: before its clients came, and the most while they waited. */
  readonly before: number;
  readonly most: number;
  /** What is left of them afterwards. */
  readonly watchedRuns: number;
}

const sampleMs = 100;
const settleLimitMs = 60_000;

function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1_024;
}

async function gauge(site: Site, name: string): Promise<number> {
  const text = await (await fetch(site.mcpUrl.replace(/\/mcp$/, '/metrics'))).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

async function untilGauge(site: Site, name: string, value: number): Promise<void> {
  const limit = AbortSignal.timeout(settleLimitMs);
  while ((await gauge(site, name)) !== value) await delay(sampleMs, undefined, { signal: limit });
}

interface Waiting {
  readonly run: SpawnedRun;
  readonly held: readonly HeldStream[];
  readonly client: ToolClient;
}

const plan = { steps: 1, tool: 'lookup' } as const;

/** A run whose last turn is held by whichever engine it goes to. */
async function startHeld({ engines }: Site, client: ToolClient): Promise<Waiting> {
  const tag = newTag();
  const held = engines.map((engine) =>
    engine.holdNext(({ body }) => {
      const of = turnOfRequest(body);
      return of?.tag === tag && of.turn === plan.steps + 1;
    }),
  );
  return { run: await spawnRun(client, plan, tag), held, client };
}

/** @throws Error when a run does not complete, or when something does not settle within a minute. */
export async function measureWaits(site: Site, { clientsOfEachEra, gapMs }: WaitsPlan): Promise<Waits> {
  const pid = site.pids['mcp-server'];
  if (pid === undefined) throw new Error('the mcp-server is no process of its own');
  const before = residentMiB(pid);
  let most = before;
  const sampler = setInterval(() => {
    most = Math.max(most, residentMiB(pid));
  }, sampleMs);
  const clients: ToolClient[] = [];
  try {
    for (let index = 0; index < clientsOfEachEra; index += 1) {
      clients.push(await connectModern(site.mcpUrl), await connectLegacy(site.mcpUrl));
    }
    const waiting: Waiting[] = [];
    for (const client of clients) waiting.push(await startHeld(site, client));
    await Promise.all(waiting.map(async ({ held }) => await Promise.race(held.map((one) => one.arrived))));
    const answers = waiting.map(async ({ run, client }) => {
      await awaitRuns(client, [run], plan);
      return { handle: run.handle, atMs: Date.now() };
    });
    await untilGauge(site, 'fermata_mcp_watched_runs', waiting.length);
    for (const { held } of waiting) {
      for (const stream of held) stream.releaseAll();
      if (gapMs > 0) await delay(gapMs);
    }
    const addedMs: number[] = [];
    for (const { handle, atMs } of await Promise.all(answers)) {
      const { closeTime } = await site.temporal.workflow.getHandle(handle).describe();
      if (closeTime === undefined) throw new Error(`${handle} was told to have ended and has not`);
      addedMs.push(atMs - closeTime.getTime());
    }
    return { addedMs, before, most, watchedRuns: await gauge(site, 'fermata_mcp_watched_runs') };
  } finally {
    clearInterval(sampler);
    for (const client of clients) await client.close();
  }
}
