/**
 * The proxy's memory: over 100,000 requests of runs that come back, which must leave it flat and nothing
 * held or open, and of turns that are held, which must cost little beyond their body and connection.
 * Samples are taken after a forced garbage collection, by a hook that is loaded beside the product.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bar, type Bar } from '../bars.ts';
import { startFermataProcesses, type RunningFermata } from './arms/fermata.ts';
import { burstModel } from './engine-models.ts';
import { measureHeld, type HeldCost } from './held-cost.ts';
import type { ClosedResult } from './load-protocol.ts';
import { memoryHookArgs, memoryHookEnvironment, sampleMemory, type MemorySample } from './memory-probe.ts';
import type { Plan } from './plan.ts';
import { connectionsTo } from './processes.ts';
import { ownConnections, pollUntil, portOf, proxyCounts } from './proxy-counts.ts';
import { requestsInHand } from './settle.ts';
import type { OverheadSite } from './site.ts';

const mebibyte = 1_048_576;
const limits = {
  /** Whichever is more. */
  rssGrowthMiB: 20,
  rssGrowthShare: 0.1,
  heapGrowthMiB: 10,
  heldTurnBytes: 1_024,
} as const;
const parts = 10;
/** A tenth takes no longer; what is not sent by then is missing at the end. */
const partLimitMs = 60_000;
const restMs = 10_000;
const chunks = 8;

interface Soak {
  readonly whole: number;
  readonly failed: number;
  readonly reasons: readonly string[];
  readonly seconds: number;
  /** After the warm-up, then after each tenth. */
  readonly samples: readonly { readonly proxy: MemorySample; readonly scheduler: MemorySample }[];
  readonly heldLeft: number;
  readonly activeLeft: number;
  /** Connections of clients that are gone; null where it cannot be told. */
  readonly socketsLeft: number | null;
  /** Requests that the engine still has in hand. */
  readonly engineLeft: number;
}

export interface SoakRun {
  readonly bars: readonly Bar[];
  readonly details: { readonly soak: Soak; readonly held: HeldCost };
  readonly text: string;
}

export async function measureSoak(site: OverheadSite, plan: Plan): Promise<SoakRun> {
  const workDir = join(site.workDir, 'soak');
  await mkdir(workDir);
  const files = { proxy: join(workDir, 'proxy.memory'), scheduler: join(workDir, 'scheduler.memory') };
  const fermata = await startFermataProcesses(
    { ...site, workDir },
    { nodeArgs: memoryHookArgs, environment: (name) => memoryHookEnvironment(files[name]) },
  );
  let soak: Soak;
  try {
    soak = await soakOf(site, plan, fermata, files);
  } finally {
    await fermata.close();
  }
  const held = await measureHeld(site, plan);
  return { bars: soakBars(plan, soak, held), details: { soak, held }, text: soakText(soak, held) };
}

async function soakOf(
  site: OverheadSite,
  plan: Plan,
  fermata: RunningFermata,
  files: Readonly<Record<'proxy' | 'scheduler', string>>,
): Promise<Soak> {
  const { requests, warmUpRequests, connections, runs } = plan.soak;
  const send = async (count: number): Promise<ClosedResult> =>
    await site.load.closed({
      kind: 'closed',
      target: fermata.target,
      model: burstModel,
      maxTokens: chunks,
      connections,
      streams: 'mixed',
      until: { requests: count, limitMs: partLimitMs },
      runs,
    });
  const sample = async (): Promise<Soak['samples'][number]> => ({
    proxy: await sampleMemory(fermata.proxy.pid, files.proxy),
    scheduler: await sampleMemory(fermata.scheduler.pid, files.scheduler),
  });
  site.progress(`soak: ${warmUpRequests} requests to warm up`);
  await send(warmUpRequests);
  const samples = [await sample()];
  const startedMs = performance.now();
  const results: ClosedResult[] = [];
  for (let part = 1; part <= parts; part += 1) {
    site.progress(`soak: ${(requests / parts) * part} of ${requests} requests`);
    results.push(await send(requests / parts));
    samples.push(await sample());
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const left = await pollUntil(
    async () => await proxyCounts(fermata.proxy.url),
    ({ held, active }) => held === 0 && active === 0,
    restMs,
  );
  const socketsLeft = await pollUntil(
    async () => await connectionsTo(portOf(fermata.proxy.url)),
    (open) => open === null || open <= ownConnections,
    restMs,
  );
  return {
    whole: results.reduce((sum, { whole }) => sum + whole, 0),
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
    reasons: results.flatMap(({ reasons }) => reasons),
    seconds,
    samples,
    heldLeft: left.held,
    activeLeft: left.active,
    socketsLeft: socketsLeft === null ? null : Math.max(0, socketsLeft - ownConnections),
    engineLeft: await requestsInHand(site.engineUrl),
  };
}

function growthMiB(soak: Soak, of: 'proxy' | 'scheduler', what: 'rss' | 'heapUsed'): number | null {
  const first = soak.samples[0]?.[of][what];
  const last = soak.samples.at(-1)?.[of][what];
  return first === undefined || last === undefined ? null : (last - first) / mebibyte;
}

function soakBars(plan: Plan, soak: Soak, held: HeldCost): readonly Bar[] {
  const allowedMiB = (of: 'proxy' | 'scheduler'): number =>
    Math.max(
      limits.rssGrowthMiB,
      Math.round((limits.rssGrowthShare * (soak.samples[0]?.[of].rss ?? 0)) / mebibyte),
    );
  return [
    bar('overhead soak requests answered', soak.whole, '>=', plan.soak.requests),
    bar('overhead soak requests failed', soak.failed, '=', 0),
    ...(['proxy', 'scheduler'] as const).flatMap((of) => [
      bar(`overhead soak ${of} RSS growth MiB`, growthMiB(soak, of, 'rss'), '<=', allowedMiB(of)),
      bar(`overhead soak ${of} heap growth MiB`, growthMiB(soak, of, 'heapUsed'), '<=', limits.heapGrowthMiB),
    ]),
    bar('overhead soak turns left', soak.heldLeft + soak.activeLeft + soak.engineLeft, '=', 0),
    bar('overhead soak sockets left', soak.socketsLeft, '=', 0),
    bar('overhead held turn bytes beyond body and connection', held.turnBytes, '<=', limits.heldTurnBytes),
    bar('overhead held turns left', held.turnsLeft, '=', 0),
    bar('overhead held sockets left', held.socketsLeft, '=', 0),
  ];
}

function soakText(soak: Soak, held: HeldCost): string {
  const mib = (bytes: number | undefined): string =>
    bytes === undefined ? '-' : (bytes / mebibyte).toFixed(1);
  const line = (of: 'proxy' | 'scheduler'): string => {
    const first = soak.samples[0]?.[of];
    const last = soak.samples.at(-1)?.[of];
    return `${of}: RSS ${mib(first?.rss)} MiB after warm-up, ${mib(last?.rss)} at the end; heap ${mib(first?.heapUsed)} and ${mib(last?.heapUsed)}`;
  };
  return [
    `soak: ${soak.whole} requests whole, ${soak.failed} failed, ${Math.round(soak.whole / soak.seconds)}/s`,
    ...soak.reasons.slice(0, 3).map((reason) => `  ${reason}`),
    line('proxy'),
    line('scheduler'),
    `${held.turns} held turns: the proxy ${Math.round(held.proxyBytes)} bytes each, a bare server with body and connection ${Math.round(held.bareBytes)}, so ${Math.round(held.turnBytes)} more; the scheduler ${Math.round(held.schedulerBytes)}`,
    '',
  ].join('\n');
}
