/**
 * The windows of all arms, interleaved: open loops on free processors, closed loops on one core. While one
 * arm is measured the others are frozen: neither their background work nor what an overloaded one has yet
 * to do counts against another.
 */
import { loadavg } from 'node:os';
import type { ArmName, RunningArm } from './arms/arm.ts';
import { burstModel, pacedModel } from './engine-models.ts';
import type { LoadGenerator } from './load-generator.ts';
import type { ClosedResult, OpenResult } from './load-protocol.ts';
import { orderOf, seedOf, type Plan } from './plan.ts';
import { allowedCores, freeze, pin, thaw } from './processes.ts';
import { settle } from './settle.ts';

export interface Bench {
  readonly engineUrl: string;
  readonly enginePid: number;
  readonly load: LoadGenerator;
  readonly arms: readonly RunningArm[];
  readonly plan: Plan;
  readonly progress: (line: string) => void;
}

interface WindowOf<Result> {
  readonly arm: ArmName;
  readonly repeat: number;
  /** The machine's load average of the last minute when the window began. */
  readonly loadAverage: number;
  /** Whether the arm had come to rest before its window. */
  readonly settled: boolean;
  readonly result: Result;
}
export type OpenWindow = WindowOf<OpenResult> & { readonly ratePerSecond: number; readonly seed: number };
export type ClosedWindow = WindowOf<ClosedResult> & { readonly streams: boolean };

const warmUpLimitMs = 15_000;
/** As many as are under way at the rate of the bars; an arm that is slower is not flooded. */
const warmUpStreams = 20;

function pidsOf(arms: readonly RunningArm[]): readonly number[] {
  return arms.flatMap(({ processes }) => processes.map(({ pid }) => pid));
}

/** Runs `measure` with this arm alone, once it has come to rest. */
async function alone<Result>(
  bench: Bench,
  arm: RunningArm,
  measure: () => Promise<Result>,
): Promise<{ readonly loadAverage: number; readonly settled: boolean; readonly result: Result }> {
  await thaw(pidsOf([arm]));
  const settled = await settle(arm, bench.engineUrl);
  const [loadAverage = 0] = loadavg();
  const result = await measure();
  await freeze(pidsOf([arm]));
  return { loadAverage, settled, result };
}

/** What compiles, connects and caches on its first requests has done so before anything counts. */
export async function warmUp({ arms, plan, load, engineUrl, progress }: Bench): Promise<void> {
  progress('warming up ...');
  for (const arm of arms) {
    await load.closed({
      kind: 'closed',
      target: arm.target,
      model: burstModel,
      maxTokens: plan.chunks,
      connections: 8,
      streams: 'mixed',
      until: { requests: plan.warmUpRequests, limitMs: warmUpLimitMs },
      runs: 0,
    });
    await settle(arm, engineUrl);
    await load.closed({
      kind: 'closed',
      target: arm.target,
      model: pacedModel,
      maxTokens: plan.chunks,
      connections: warmUpStreams,
      streams: 'all',
      until: { windowMs: plan.warmUpMs, warmUpMs: 0 },
      runs: 0,
    });
    await settle(arm, engineUrl);
  }
}

export async function measureOpenLoops(bench: Bench): Promise<readonly OpenWindow[]> {
  const { arms, plan, load } = bench;
  const windows: OpenWindow[] = [];
  await freeze(pidsOf(arms));
  for (let repeat = 0; repeat < plan.repeats; repeat += 1) {
    for (const { ratePerSecond, windowMs } of plan.rates) {
      bench.progress(`first byte and chunks at ${ratePerSecond}/s, repeat ${repeat + 1} of ${plan.repeats}`);
      for (const arm of orderOf(arms, repeat)) {
        const seed = seedOf(repeat, ratePerSecond);
        const order = { target: arm.target, model: pacedModel, maxTokens: plan.chunks };
        const measured = await alone(
          bench,
          arm,
          async () => await load.open({ kind: 'open', ...order, ratePerSecond, windowMs, seed }),
        );
        windows.push({ arm: arm.name, repeat, ratePerSecond, seed, ...measured });
      }
    }
  }
  return windows;
}

/**
 * Every gateway alone on the last core, all of its processes together; engine and load generator on the
 * others.
 * @returns null where processes cannot be pinned, or there is one core only.
 */
export async function measureOneCore(bench: Bench): Promise<readonly ClosedWindow[] | null> {
  const { arms, plan, load } = bench;
  const cores = await allowedCores();
  const gatewayCore = cores?.at(-1);
  if (cores === null || gatewayCore === undefined || cores.length < 2) return null;
  const gateways = pidsOf(arms);
  await freeze(gateways);
  await pin([bench.enginePid, load.pid], cores.slice(0, -1));
  await pin(gateways, [gatewayCore]);
  const windows: ClosedWindow[] = [];
  for (let repeat = 0; repeat < plan.repeats; repeat += 1) {
    for (const streams of [false, true]) {
      bench.progress(
        `requests/s on one core, ${streams ? 'streaming' : 'plain'}, repeat ${repeat + 1} of ${plan.repeats}`,
      );
      for (const arm of orderOf(arms, repeat)) {
        const { connections, warmUpMs, windowMs, chunks } = plan.closed;
        const order = { target: arm.target, model: burstModel, maxTokens: chunks, connections, runs: 0 };
        const measured = await alone(
          bench,
          arm,
          async () =>
            await load.closed({
              kind: 'closed',
              ...order,
              streams: streams ? 'all' : 'none',
              until: { windowMs, warmUpMs },
            }),
        );
        windows.push({ arm: arm.name, repeat, streams, ...measured });
      }
    }
  }
  await thaw(gateways);
  await pin([bench.enginePid, load.pid, ...gateways], cores);
  return windows;
}
