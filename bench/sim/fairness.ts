/**
 * `npm run sim -- fairness`, three questions on the engines of the flood:
 * - beside: a light caller beside one with ten times its load, of the same class, on the flood's memory: how
 *   long it waits for the answer of a run, and for the first byte of a turn, over what it waits when it has the
 *   pool to itself. The load is an arrival rate, more in all than a plain router can serve there and less than
 *   the pool can. The bar is on the answer: alone, the first byte is one prefill, and one prefill of another
 *   caller in the same batch doubles it, whatever is held or admitted;
 * - flooded: the same where 40 agents that never stop take all the pool has, beside 4. No bar: whoever comes
 *   decodes in a full batch, and behind prefills that keep it full, whatever is held or admitted;
 * - shares: four callers that always have turns waiting, one with three times the agents, one with three times
 *   the prompts, one with twice the weight: Jain's index of what each got per unit of weight (prompt tokens
 *   1, cached ones 0.1, output 2), and what evening it out costs in cached tokens;
 * - starvation: 24 interactive and 24 batch agents: the longest that a batch turn was held.
 */
import { bar, type Bar } from '../bars.ts';
import { policySchema } from '../../contracts/config-file.ts';
import type { ArmKind } from './arms/arm.ts';
import { llmDAttainedService } from './arms/llm-d-flow-control.ts';
import { sticky } from './arms/routers.ts';
import { coreArm } from './arms/scheduler-core.ts';
import { answerWaits, firstByteWaits, measure, serviceByCaller } from './measure.ts';
import type { Recording } from './recorder.ts';
import type { Scenario } from './scenario.ts';
import { agents, memoryFor } from './scenarios.ts';
import { Simulation } from './simulation.ts';
import { jainIndex, quantile, spreadOf, type Spread } from './statistics.ts';
import { alignedTable } from './table.ts';

const warmUpMs = 60_000;
const windowMs = 600_000;

const light = agents('interactive', 4, { caller: 'light' });
const heavy = agents('interactive', 40, { caller: 'heavy' });
const lightRunsPerMinute = 12;

const beside: Scenario = {
  name: 'fairness-beside',
  about: 'a light caller with 12 runs a minute beside one with 120, memory for half of 52 contexts',
  replicas: memoryFor(0.5, [agents('interactive', 52)]),
  loads: [
    { kind: 'poisson', runsPerMinute: lightRunsPerMinute, shape: light.shape },
    { kind: 'poisson', runsPerMinute: 10 * lightRunsPerMinute, shape: heavy.shape },
  ],
  warmUpMs,
  windowMs,
};
const alone: Scenario = { ...beside, name: 'fairness-alone', loads: beside.loads.slice(0, 1) };

const flooded: Scenario = {
  name: 'fairness-flooded',
  about: 'a light caller with 4 agents beside one with 40, memory for half',
  replicas: memoryFor(0.5, [light, heavy]),
  loads: [light, heavy],
  warmUpMs,
  windowMs,
};
const unflooded: Scenario = { ...flooded, name: 'fairness-unflooded', loads: [light] };

const weights: Readonly<Record<string, number>> = { few: 1, many: 1, long: 1, double: 2 };
const backlogged = [
  agents('batch', 24, { caller: 'few' }),
  agents('batch', 72, { caller: 'many' }),
  agents('batch', 24, { caller: 'long', promptTokens: { lowest: 4_800, highest: 6_000 } }),
  agents('batch', 48, { caller: 'double' }),
];
const shares: Scenario = {
  name: 'fairness-shares',
  about: 'four callers with turns always waiting: 24, 72, 24 and 48 agents, memory for a tenth',
  replicas: memoryFor(0.1, backlogged),
  loads: backlogged,
  warmUpMs,
  windowMs,
};

const mixed = [agents('batch', 24), agents('interactive', 24)];
const starvation: Scenario = {
  name: 'fairness-starvation',
  about: '24 interactive and 24 batch agents, memory for half',
  replicas: memoryFor(0.5, mixed),
  loads: mixed,
  warmUpMs,
  windowMs: 900_000,
};

export interface FairnessResult {
  readonly arm: string;
  /** Of the light caller, until the answer of a run. */
  readonly aloneP95Ms: Spread;
  readonly besideP95Ms: Spread;
  /** Beside over alone, seed by seed. */
  readonly waitRatio: Spread;
  /** The same for the first byte of a turn. */
  readonly firstByteRatio: Spread;
  /** As `waitRatio`, on a pool that the other caller floods. */
  readonly floodedRatio: Spread;
  readonly jain: Spread;
  readonly cachedShare: Spread;
  readonly longestBatchHoldMs: Spread;
}

/** The core's default admission with each fairness order that it knows, and two arms of others to compare. */
export function fairnessArms(): ArmKind[] {
  const { admission } = policySchema.parse({});
  const orders = policySchema.shape.fairness.unwrap().options;
  const callers = Object.fromEntries(Object.entries(weights).map(([id, weight]) => [id, { weight }]));
  return [
    sticky,
    llmDAttainedService,
    ...orders.map((fairness) =>
      coreArm(`${admission} ${fairness}`, `the core, fairness by ${fairness}`, {
        policy: { admission, fairness },
        callers,
        capacityReported: true,
      }),
    ),
  ];
}

export function compareFairness(
  kinds: readonly ArmKind[],
  seeds: readonly number[],
  shorten: (scenario: Scenario) => Scenario,
): FairnessResult[] {
  const found = kinds.map(() => [] as FairnessOfSeed[]);
  for (const seed of seeds) {
    for (const [index, kind] of kinds.entries()) found[index]?.push(fairnessOf(kind, seed, shorten));
  }
  return kinds.map(({ name }, index) => {
    const spreadBy = (of: (one: FairnessOfSeed) => number | null): Spread =>
      spreadOf((found[index] ?? []).map(of));
    return {
      arm: name,
      aloneP95Ms: spreadBy((one) => one.aloneP95Ms),
      besideP95Ms: spreadBy((one) => one.besideP95Ms),
      waitRatio: spreadBy((one) => quotient(one.besideP95Ms, one.aloneP95Ms)),
      firstByteRatio: spreadBy((one) => one.firstByteRatio),
      floodedRatio: spreadBy((one) => one.floodedRatio),
      jain: spreadBy((one) => one.jain),
      cachedShare: spreadBy((one) => one.cachedShare),
      longestBatchHoldMs: spreadBy((one) => one.longestBatchHoldMs),
    };
  });
}

function quotient(value: number | null, base: number | null): number | null {
  return value === null || base === null || base === 0 ? null : value / base;
}

interface FairnessOfSeed {
  readonly aloneP95Ms: number | null;
  readonly besideP95Ms: number | null;
  readonly firstByteRatio: number | null;
  readonly floodedRatio: number | null;
  readonly jain: number | null;
  readonly cachedShare: number | null;
  readonly longestBatchHoldMs: number | null;
}

const isLight = ({ caller }: { readonly caller: string }): boolean => caller === 'light';

function fairnessOf(kind: ArmKind, seed: number, shorten: (scenario: Scenario) => Scenario): FairnessOfSeed {
  const record = (scenario: Scenario): Recording => new Simulation(shorten(scenario), kind, seed).run();
  const answerP95Ms = (recording: Recording): number | null =>
    quantile(answerWaits(recording, isLight), 0.95);
  const firstByteP95Ms = (recording: Recording): number | null =>
    quantile(firstByteWaits(recording, isLight), 0.95);
  const [lonely, crowded, shared] = [record(alone), record(beside), record(shares)];
  const service = serviceByCaller(shared);
  return {
    aloneP95Ms: answerP95Ms(lonely),
    besideP95Ms: answerP95Ms(crowded),
    firstByteRatio: quotient(firstByteP95Ms(crowded), firstByteP95Ms(lonely)),
    floodedRatio: quotient(answerP95Ms(record(flooded)), answerP95Ms(record(unflooded))),
    jain: jainIndex(Object.entries(weights).map(([id, weight]) => (service.get(id) ?? 0) / weight)),
    cachedShare: measure(shared).cachedShare,
    longestBatchHoldMs: measure(record(starvation)).longestBatchHoldMs,
  };
}

/**
 * The wait and the hold are asked of what is used when nothing is configured, the shares of the order by
 * tokens, which is there for them.
 */
export function fairnessBars(results: readonly FairnessResult[]): Bar[] {
  const ours = results.filter(({ arm }) => arm.startsWith('residency') || arm.startsWith('engine-load'));
  const policy = policySchema.parse({});
  const byDefault = ours.find(({ arm }) => arm.endsWith(` ${policy.fairness}`));
  const byTokens = ours.find(({ arm }) => arm.endsWith(' tokens'));
  const most = Math.max(...results.map(({ cachedShare }) => cachedShare.median ?? 0));
  const behind = byTokens?.cachedShare.median ?? null;
  return [
    bar(
      "fairness light caller's p95 wait beside a heavy one over alone",
      byDefault?.waitRatio.median ?? null,
      '<=',
      1.5,
    ),
    bar("fairness Jain's index of tokens by weight", byTokens?.jain.median ?? null, '>=', 0.95),
    bar(
      'fairness cached share behind the best in points',
      behind === null ? null : (most - behind) * 100,
      '<=',
      2,
    ),
    bar(
      'fairness longest batch hold s',
      byDefault?.longestBatchHoldMs.highest === undefined || byDefault.longestBatchHoldMs.highest === null
        ? null
        : byDefault.longestBatchHoldMs.highest / 1_000,
      '<=',
      policy.maxBatchHoldMs / 1_000,
    ),
  ];
}

export function fairnessTable(results: readonly FairnessResult[]): string {
  const text = (value: number | null, digits: number, divisor = 1): string =>
    value === null ? '-' : (value / divisor).toFixed(digits);
  return alignedTable([
    [
      'arm',
      'alone p95 s',
      'beside p95 s',
      'ratio (range)',
      'first byte ratio',
      'flooded ratio',
      'Jain (range)',
      'cached',
      'longest batch hold s',
    ],
    ...results.map((one) => [
      one.arm,
      text(one.aloneP95Ms.median, 2, 1_000),
      text(one.besideP95Ms.median, 2, 1_000),
      `${text(one.waitRatio.median, 2)} (${text(one.waitRatio.lowest, 2)}-${text(one.waitRatio.highest, 2)})`,
      text(one.firstByteRatio.median, 2),
      text(one.floodedRatio.median, 2),
      `${text(one.jain.median, 3)} (${text(one.jain.lowest, 3)}-${text(one.jain.highest, 3)})`,
      text(one.cachedShare.median, 2),
      text(one.longestBatchHoldMs.highest, 1, 1_000),
    ]),
  ]);
}

export const fairnessScenarios: readonly Scenario[] = [alone, beside, unflooded, flooded, shares, starvation];
