/**
 * What a held turn costs: thousands of them before a replica whose one place is taken, each on a connection
 * of its own. Body and connection cost any server something, so a bare one that holds as many requests in
 * the same way is measured too; what the proxy uses more is the turn.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startFermataProcesses } from './arms/fermata.ts';
import { slowModel } from './engine-models.ts';
import { memoryHookArgs, memoryHookEnvironment, sampleMemory, type MemorySample } from './memory-probe.ts';
import type { Plan } from './plan.ts';
import { connectionsTo, readyUrl, startProcess } from './processes.ts';
import { ownConnections, pollUntil, portOf, proxyCounts } from './proxy-counts.ts';
import type { OverheadSite } from './site.ts';

export interface HeldCost {
  readonly turns: number;
  /** Heap and buffers a held turn adds, in bytes: in the proxy, in the bare server, the difference. */
  readonly proxyBytes: number;
  readonly bareBytes: number;
  readonly turnBytes: number;
  readonly schedulerBytes: number;
  /** Turns that the proxy still knew after all clients had left. */
  readonly turnsLeft: number;
  /** null where it cannot be told. */
  readonly socketsLeft: number | null;
}

/** Held once before, so that what is made only once does not count. */
const warmUpTurns = 500;
/** Files that a process has open beside its connections. */
const otherFiles = 500;
const waitMs = 60_000;
/** The stream that takes the only place lasts longer than everything here. */
const slowChunks = 3_600;

/** @throws Error when the turns cannot be held. */
export async function measureHeld(site: OverheadSite, plan: Plan): Promise<HeldCost> {
  const turns = Math.min(plan.soak.heldTurns, (await maxOpenFiles()) - otherFiles);
  site.progress(`holding ${turns} turns`);
  const fermata = await holdInProxy(site, turns);
  site.progress(`holding ${turns} requests in a bare server`);
  const bareBytes = await holdInBareServer(site, turns);
  return { turns, ...fermata, bareBytes, turnBytes: fermata.proxyBytes - bareBytes };
}

function perTurn(before: MemorySample, after: MemorySample, turns: number): number {
  return (after.heapUsed + after.external - before.heapUsed - before.external) / turns;
}

async function holdInProxy(
  site: OverheadSite,
  turns: number,
): Promise<Omit<HeldCost, 'turns' | 'bareBytes' | 'turnBytes'>> {
  const workDir = join(site.workDir, 'held');
  await mkdir(workDir);
  const files = { proxy: join(workDir, 'proxy.memory'), scheduler: join(workDir, 'scheduler.memory') };
  const { target, proxy, scheduler, close } = await startFermataProcesses(
    { ...site, workDir },
    {
      maxConcurrent: 1,
      nodeArgs: memoryHookArgs,
      environment: (name) => memoryHookEnvironment(files[name]),
    },
  );
  try {
    const hold = async (count: number): Promise<void> => {
      await site.load.hold({
        kind: 'hold',
        target,
        model: slowModel,
        maxTokens: slowChunks,
        count: count + 1,
      });
      const { held } = await pollUntil(
        async () => await proxyCounts(proxy.url),
        (counts) => counts.held >= count,
        waitMs,
      );
      if (held !== count) throw new Error(`${held} turns are held, not ${count}`);
    };
    const release = async (): Promise<number> => {
      await site.load.release();
      const left = await pollUntil(
        async () => await proxyCounts(proxy.url),
        ({ held, active }) => held === 0 && active === 0,
        waitMs,
      );
      return left.held + left.active;
    };
    await hold(warmUpTurns);
    await release();
    const before = await sampleMemory(proxy.pid, files.proxy);
    const schedulerBefore = await sampleMemory(scheduler.pid, files.scheduler);
    await hold(turns);
    const proxyBytes = perTurn(before, await sampleMemory(proxy.pid, files.proxy), turns);
    const schedulerAfter = await sampleMemory(scheduler.pid, files.scheduler);
    const turnsLeft = await release();
    const socketsLeft = await pollUntil(
      async () => await connectionsTo(portOf(proxy.url)),
      (open) => open === null || open <= ownConnections,
      waitMs,
    );
    return {
      proxyBytes,
      schedulerBytes: perTurn(schedulerBefore, schedulerAfter, turns),
      turnsLeft,
      socketsLeft: socketsLeft === null ? null : Math.max(0, socketsLeft - ownConnections),
    };
  } finally {
    await site.load.release();
    await close();
  }
}

async function holdInBareServer(site: OverheadSite, turns: number): Promise<number> {
  const memoryPath = join(site.workDir, 'bare.memory');
  const bare = await startProcess({
    name: 'bare-server',
    command: process.execPath,
    args: [
      ...memoryHookArgs,
      '--import',
      import.meta.resolve('tsx'),
      join(import.meta.dirname, 'bare-server-main.ts'),
    ],
    environment: { ...site.environment, ...memoryHookEnvironment(memoryPath) },
    workDir: site.workDir,
  });
  try {
    const url = await readyUrl(bare);
    const held = async (): Promise<number> => {
      const response = await fetch(`${url}/held`, { signal: AbortSignal.timeout(10_000) });
      return Number(/"held":(\d+)/.exec(await response.text())?.[1]);
    };
    const hold = async (count: number): Promise<void> => {
      const target = { url, headers: {} };
      await site.load.hold({ kind: 'hold', target, model: slowModel, maxTokens: slowChunks, count });
      const now = await pollUntil(held, (value) => value >= count, waitMs);
      if (now !== count) throw new Error(`the bare server holds ${now} requests, not ${count}`);
    };
    await hold(warmUpTurns);
    await site.load.release();
    await pollUntil(held, (value) => value === 0, waitMs);
    const before = await sampleMemory(bare.pid, memoryPath);
    await hold(turns);
    return perTurn(before, await sampleMemory(bare.pid, memoryPath), turns);
  } finally {
    await site.load.release();
    await bare.close();
  }
}

/** The soft limit of this process and those it starts; a large number where it cannot be told. */
async function maxOpenFiles(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? Number.MAX_SAFE_INTEGER : Number(soft);
}
