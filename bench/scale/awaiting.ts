/**
 * A thousand runs at work at once, each awaited by the client that spawned it: ten clients with as many runs as
 * one caller may have. Set against the same runs in waves of one client's, which is what the stack does best.
 */
import { readFileSync } from 'node:fs';
import { connectLegacy, type ToolClient } from '../mcp-clients.ts';
import { cpuBetween, machineName, sampleCpu } from '../steps/process-cpu.ts';
import { awaitRuns, spawnRun, type RunPlan } from '../steps/runs.ts';
import type { Site } from '../steps/site.ts';
import type { ScalePlan } from './plan.ts';

export interface AwaitingResult {
  readonly runs: number;
  readonly completed: number;
  /** Of the runs that did not complete, in words, each once. */
  readonly faults: readonly string[];
  readonly atOnceSeconds: number;
  /** Until the last of them had its handle. */
  readonly spawnedSeconds: number;
  readonly runsPerSecond: number;
  readonly runsPerSecondInWaves: number;
  /** Most resident memory by process, in MiB; empty where it cannot be told. */
  readonly mostMiB: Readonly<Record<string, number>>;
  /** Processors used while they were at work, by process; null: it cannot be told. */
  readonly cores: Readonly<Record<string, number | null>>;
  readonly busyCores: number | null;
}

const memoryEveryMs = 250;

/** @param site with each service in a process of its own. */
export async function measureAwaiting(
  site: Site,
  { awaiting }: ScalePlan,
  progress: (line: string) => void,
): Promise<AwaitingResult> {
  const clients: ToolClient[] = [];
  try {
    for (let index = 0; index < awaiting.clients; index += 1) clients.push(await connectLegacy(site.mcpUrl));
    const run: RunPlan = { steps: awaiting.stepsPerRun, tool: 'lookup' };
    progress(`${awaiting.wavesCompared} waves of ${awaiting.runsPerClient} runs`);
    const wavesMs = performance.now();
    for (const client of clients.slice(0, awaiting.wavesCompared)) {
      await spawnAndAwait(client, awaiting.runsPerClient, run, () => {});
    }
    const waveRuns = awaiting.runsPerClient * Math.min(awaiting.wavesCompared, clients.length);
    const runsPerSecondInWaves = waveRuns / ((performance.now() - wavesMs) / 1_000);
    progress(`${awaiting.clients * awaiting.runsPerClient} runs at once`);
    return { ...(await atOnce(site, clients, awaiting.runsPerClient, run)), runsPerSecondInWaves };
  } finally {
    for (const client of clients) await client.close();
  }
}

async function atOnce(
  site: Site,
  clients: readonly ToolClient[],
  runsPerClient: number,
  run: RunPlan,
): Promise<Omit<AwaitingResult, 'runsPerSecondInWaves'>> {
  const cpu = sampleCpu(site.pids);
  const memory = watchMemory(site.pids);
  const startMs = Date.now();
  let spawnedMs = 0;
  const ends = await Promise.allSettled(
    clients.map(async (client) => {
      await spawnAndAwait(client, runsPerClient, run, () => {
        spawnedMs = Math.max(spawnedMs, Date.now() - startMs);
      });
    }),
  );
  const tookMs = Date.now() - startMs;
  const used = cpuBetween(cpu.stop(), startMs, startMs + tookMs);
  const coresOf = (ms: number | null | undefined): number | null =>
    typeof ms === 'number' ? ms / tookMs : null;
  const { [machineName]: machine, ...ours } = used;
  const faults = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
  const runs = clients.length * runsPerClient;
  return {
    runs,
    completed: runs - faults.length * runsPerClient,
    faults: [...new Set(faults)],
    atOnceSeconds: tookMs / 1_000,
    spawnedSeconds: spawnedMs / 1_000,
    runsPerSecond: runs / (tookMs / 1_000),
    mostMiB: memory.stop(),
    cores: Object.fromEntries(Object.entries(ours).map(([name, ms]) => [name, coresOf(ms)])),
    busyCores: coresOf(machine),
  };
}

/** @throws Error when one of them does not complete with all its tool calls. */
async function spawnAndAwait(
  client: ToolClient,
  count: number,
  run: RunPlan,
  spawned: () => void,
): Promise<void> {
  const runs = await Promise.all(Array.from({ length: count }, async () => await spawnRun(client, run)));
  spawned();
  await awaitRuns(client, runs, run);
}

function watchMemory(pids: Readonly<Record<string, number>>): { stop(): Record<string, number> } {
  const most: Record<string, number> = {};
  const look = (): void => {
    for (const [name, pid] of Object.entries(pids)) {
      const now = residentMiB(pid);
      if (now !== null) most[name] = Math.max(most[name] ?? 0, now);
    }
  };
  look();
  const timer = setInterval(look, memoryEveryMs);
  return {
    stop() {
      clearInterval(timer);
      look();
      return most;
    },
  };
}

function residentMiB(pid: number): number | null {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? null : Number(kib) / 1_024;
  } catch {
    return null;
  }
}
