/**
 * 1, 2 and 4 proxies against one scheduler, each a process, in closed loops on the overhead bench's engine. All
 * of them are linked all the time; only so many are asked. What each process used of the processors is told with
 * every window.
 */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import { nodeFlags } from '../../cli/node-flags.ts';
import { loader } from '../overhead/arms/one-process.ts';
import { untilAnswering } from '../overhead/arms/answers.ts';
import { burstModel } from '../overhead/engine-models.ts';
import { startLoadGenerator, type LoadGenerator } from '../overhead/load-generator.ts';
import { orderOf } from '../overhead/plan.ts';
import { readyUrl, startProcess, type RunningProcess } from '../overhead/processes.ts';
import { startSite, type OverheadSite } from '../overhead/site.ts';
import { cpuBetween, machineName, ownName, sampleCpu } from '../steps/process-cpu.ts';
import type { ScalePlan } from './plan.ts';

const root = resolve(import.meta.dirname, '..', '..');

export interface ProxyWindow {
  readonly proxies: number;
  readonly repeat: number;
  readonly requestsPerSecond: number;
  readonly failed: number;
  /** Middle of the answers' whole times, the mean over the proxies. */
  readonly p50Ms: number | null;
  /** Processors used, by kind of process: `scheduler`, `proxies`, `engine`, `load`; null: it cannot be told. */
  readonly cores: Readonly<Record<string, number | null>>;
  readonly busyCores: number | null;
}

interface Cluster {
  readonly scheduler: RunningProcess;
  readonly proxies: readonly (RunningProcess & { readonly url: string })[];
  readonly loads: readonly LoadGenerator[];
}

export async function measureProxies(
  plan: ScalePlan,
  environment: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
): Promise<readonly ProxyWindow[]> {
  const parts: Closable[] = [];
  try {
    const site = await startSite(environment, progress);
    parts.push(site);
    const cluster = await startCluster(site, Math.max(...plan.counts), parts);
    await measureWindow(
      site,
      cluster,
      { ...plan, proxies: { ...plan.proxies, windowMs: 1_000 } },
      Infinity,
      0,
    );
    const windows: ProxyWindow[] = [];
    for (let repeat = 0; repeat < plan.repeats; repeat += 1) {
      for (const count of orderOf(plan.counts, repeat)) {
        progress(`${count} proxies, repeat ${repeat + 1} of ${plan.repeats}`);
        windows.push(await measureWindow(site, cluster, plan, count, repeat));
      }
    }
    return windows;
  } finally {
    await closeInReverse(parts);
  }
}

async function startCluster(site: OverheadSite, count: number, parts: Closable[]): Promise<Cluster> {
  const configPath = join(site.workDir, 'fermata.yaml');
  // JSON is YAML.
  const pool = [{ id: 'bench', url: site.engineUrl, engine: 'vllm' }];
  await writeFile(configPath, JSON.stringify({ pool }));
  const start = async (
    name: string,
    entry: string,
    own: Record<string, string>,
  ): Promise<RunningProcess & { url: string }> => {
    const started = await startProcess({
      name,
      command: process.execPath,
      args: [...nodeFlags, ...loader, join(root, entry)],
      environment: { ...site.environment, ...own },
      workDir: site.workDir,
    });
    parts.push(started);
    return { ...started, url: await readyUrl(started) };
  };
  const scheduler = await start('scheduler', 'scheduler/host/main.ts', {
    FERMATA_CONFIG: configPath,
    FERMATA_SCHEDULER_PORT: '0',
  });
  const proxies: (RunningProcess & { url: string })[] = [];
  const loads = [site.load];
  for (let index = 0; index < count; index += 1) {
    const proxy = await start(`proxy-${index}`, 'proxy/main.ts', {
      FERMATA_PROXY_PORT: '0',
      FERMATA_SCHEDULER_URL: scheduler.url,
    });
    await untilAnswering(proxy, { url: proxy.url, headers: {} });
    proxies.push(proxy);
    if (index === 0) continue;
    const load = await startLoadGenerator();
    parts.push(load);
    loads.push(load);
  }
  return { scheduler, proxies, loads };
}

async function measureWindow(
  site: OverheadSite,
  { scheduler, proxies, loads }: Cluster,
  { proxies: { connections, warmUpMs, windowMs, chunks } }: ScalePlan,
  count: number,
  repeat: number,
): Promise<ProxyWindow> {
  const asked = proxies.slice(0, count);
  const numbered = (kind: string, pids: readonly number[]): [string, number][] =>
    pids.map((pid, index) => [`${kind} ${index}`, pid]);
  const sampler = sampleCpu({
    scheduler: scheduler.pid,
    engine: site.enginePid,
    ...Object.fromEntries(
      numbered(
        'proxy',
        proxies.map(({ pid }) => pid),
      ),
    ),
    ...Object.fromEntries(
      numbered(
        'load',
        loads.map(({ pid }) => pid),
      ),
    ),
  });
  const startMs = Date.now();
  const results = await Promise.all(
    asked.map(async (proxy, index) => {
      const load = loads[index];
      if (load === undefined) throw new RangeError(`no load generator ${index}`);
      return await load.closed({
        kind: 'closed',
        target: { url: proxy.url, headers: {} },
        model: burstModel,
        maxTokens: chunks,
        connections: Math.max(1, Math.round(connections / asked.length)),
        streams: 'mixed',
        until: { windowMs, warmUpMs },
        runs: 0,
      });
    }),
  );
  const used = cpuBetween(sampler.stop(), startMs + warmUpMs, startMs + warmUpMs + windowMs);
  const sumOf = (kind: string): number | null => {
    const all = Object.entries(used).filter(([name]) => name === kind || name.startsWith(`${kind} `));
    const ms = all.reduce((sum, [, one]) => sum + (one ?? Number.NaN), 0);
    return Number.isFinite(ms) ? ms / windowMs : null;
  };
  const middles = results.flatMap(({ totalMs }) => (totalMs.p50 === null ? [] : [totalMs.p50]));
  return {
    proxies: asked.length,
    repeat,
    requestsPerSecond: results.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0),
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
    p50Ms: middles.length === 0 ? null : middles.reduce((sum, one) => sum + one, 0) / middles.length,
    cores: {
      scheduler: sumOf('scheduler'),
      proxies: sumOf('proxy'),
      engine: sumOf('engine'),
      load: sumOf('load'),
      bench: sumOf(ownName),
    },
    busyCores: sumOf(machineName),
  };
}
