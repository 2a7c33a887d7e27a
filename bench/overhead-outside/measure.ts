/**
 * The same windows by two load generators in turn, ours and wrk: one short stream after another at a rate, whose
 * time is the first byte's, and plain requests in closed loops against one core.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../cli/setup/run-command.ts';
import type { RunningArm } from '../overhead/arms/arm.ts';
import { burstModel, pacedModel } from '../overhead/engine-models.ts';
import { orderOf, seedOf } from '../overhead/plan.ts';
import { allowedCores, pin } from '../overhead/processes.ts';
import { settle } from '../overhead/settle.ts';
import type { OverheadSite } from '../overhead/site.ts';
import type { OutsidePlan } from './plan.ts';
import { withLibraries, type Wrk } from './wrk-program.ts';
import { readWrkReport, wrkScript, type WrkOrder } from './wrk-script.ts';

export type Generator = 'ours' | 'wrk';
export type OutsideArm = 'direct' | 'fermata';

interface WindowOf {
  readonly arm: OutsideArm;
  readonly generator: Generator;
  readonly repeat: number;
  readonly requests: number;
  readonly failed: number;
}
/** Milliseconds from a request to its first byte. */
export type PacedWindow = WindowOf & { readonly p50Ms: number | null; readonly p99Ms: number | null };
export type ClosedWindow = WindowOf & { readonly requestsPerSecond: number };

export interface OutsideResult {
  readonly paced: readonly PacedWindow[];
  /** null: processes cannot be pinned, or there is one core only. */
  readonly closed: readonly ClosedWindow[] | null;
}

export interface OutsideBench {
  readonly site: OverheadSite;
  readonly arms: readonly (RunningArm & { readonly name: OutsideArm })[];
  readonly wrk: Wrk;
  readonly plan: OutsidePlan;
}

const generators: readonly Generator[] = ['ours', 'wrk'];
/** Beyond the window itself: to start, to read the last replies, to print. */
const wrkMarginMs = 10_000;
let windows = 0;

export async function measureOutside(bench: OutsideBench): Promise<OutsideResult> {
  for (const arm of bench.arms) {
    await bench.site.load.closed({
      kind: 'closed',
      target: arm.target,
      model: burstModel,
      maxTokens: 1,
      connections: 8,
      streams: 'mixed',
      until: { requests: bench.plan.warmUpRequests, limitMs: 15_000 },
      runs: 0,
    });
  }
  const paced = await everyWindow(bench, 'first byte', async (arm, generator, repeat) =>
    generator === 'ours' ? await pacedByUs(bench, arm, repeat) : await pacedByWrk(bench, arm, repeat),
  );
  const cores = await allowedCores();
  const own = cores?.at(-1);
  if (cores === null || own === undefined || cores.length < 2) return { paced, closed: null };
  const { site, arms } = bench;
  const gateways = arms.flatMap(({ processes }) => processes.map(({ pid }) => pid));
  const others = cores.slice(0, -1);
  await pin([site.enginePid, site.load.pid], others);
  await pin(gateways, [own]);
  const closed = await everyWindow(bench, 'requests/s on one core', async (arm, generator) =>
    generator === 'ours' ? await closedByUs(bench, arm) : await closedByWrk(bench, arm, others),
  );
  await pin([site.enginePid, site.load.pid, ...gateways], cores);
  return { paced, closed };
}

async function everyWindow<Found>(
  { site, arms, plan }: OutsideBench,
  what: string,
  measure: (arm: RunningArm, generator: Generator, repeat: number) => Promise<Found>,
): Promise<readonly (Found & Pick<WindowOf, 'arm' | 'generator' | 'repeat'>)[]> {
  const found: (Found & Pick<WindowOf, 'arm' | 'generator' | 'repeat'>)[] = [];
  for (let repeat = 0; repeat < plan.repeats; repeat += 1) {
    site.progress(`${what}, repeat ${repeat + 1} of ${plan.repeats}`);
    for (const generator of orderOf(generators, repeat)) {
      for (const arm of orderOf(arms, Math.floor(repeat / 2))) {
        await settle(arm, site.engineUrl);
        found.push({ ...(await measure(arm, generator, repeat)), arm: arm.name, generator, repeat });
      }
    }
  }
  return found;
}

async function pacedByUs({ site, plan }: OutsideBench, arm: RunningArm, repeat: number) {
  const { ratePerSecond } = plan.paced;
  const result = await site.load.open({
    kind: 'open',
    target: arm.target,
    model: pacedModel,
    maxTokens: 1,
    ratePerSecond,
    windowMs: plan.windowSeconds * 1_000,
    seed: seedOf(repeat, ratePerSecond),
  });
  const { failed, unfinished, dropped, sent, firstByteMs } = result;
  return {
    requests: sent,
    failed: failed + unfinished + dropped,
    p50Ms: firstByteMs.p50,
    p99Ms: firstByteMs.p99,
  };
}

async function pacedByWrk(bench: OutsideBench, arm: RunningArm, _repeat: number) {
  const { plan } = bench;
  const { requests, failed, p50Ms, p99Ms } = await runWrk(bench, null, {
    url: arm.target.url,
    model: pacedModel,
    stream: true,
    maxTokens: 1,
    ...plan.paced,
    seconds: plan.windowSeconds,
  });
  return { requests, failed, p50Ms, p99Ms };
}

async function closedByUs({ site, plan }: OutsideBench, arm: RunningArm) {
  const { sent, failed, requestsPerSecond } = await site.load.closed({
    kind: 'closed',
    target: arm.target,
    model: burstModel,
    maxTokens: plan.closed.chunks,
    connections: plan.closed.connections,
    streams: 'none',
    until: { windowMs: plan.windowSeconds * 1_000, warmUpMs: 200 },
    runs: 0,
  });
  return { requests: sent, failed, requestsPerSecond };
}

async function closedByWrk(bench: OutsideBench, arm: RunningArm, cores: readonly number[]) {
  const { plan } = bench;
  const { requests, failed, requestsPerSecond } = await runWrk(bench, cores, {
    url: arm.target.url,
    model: burstModel,
    stream: false,
    maxTokens: plan.closed.chunks,
    connections: plan.closed.connections,
    ratePerSecond: null,
    seconds: plan.windowSeconds,
  });
  return { requests, failed, requestsPerSecond };
}

/** @param cores where it may run; null: anywhere. */
async function runWrk(
  { site, wrk }: OutsideBench,
  cores: readonly number[] | null,
  order: Omit<WrkOrder, 'window'>,
) {
  windows += 1;
  const scriptPath = join(site.workDir, 'wrk.lua');
  await writeFile(scriptPath, wrkScript({ ...order, window: windows }), 'latin1');
  const pinned = cores === null ? [] : ['taskset', '-c', cores.join(',')];
  const [command, ...args] = [
    ...pinned,
    ...withLibraries(wrk, ['-t1', `-c${order.connections}`, `-d${order.seconds}s`, '--timeout', '5s']),
    '-s',
    scriptPath,
    order.url,
  ];
  const done = await runCommand(command, args, { timeoutMs: order.seconds * 1_000 + wrkMarginMs });
  return readWrkReport(done.output);
}
