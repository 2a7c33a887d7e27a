/**
 * Whether two results of the flood rank policies alike: `npm run sim -- flood` in virtual time and a run in real
 * time. Pure. Two policies whose medians are nearer to each other than `tie` in either result are equal there,
 * and no order is asked of them.
 */
import { z } from 'zod';
import { bar, type Bar } from '../bars.ts';
import type { MetricName } from '../sim/measure.ts';
import { median } from '../sim/statistics.ts';

const comparisonSchema = z.looseObject({
  scenario: z.looseObject({ name: z.string() }),
  results: z.array(
    z.looseObject({
      arm: z.string(),
      bySeed: z.array(z.record(z.string(), z.number().nullable())),
    }),
  ),
});

/** Of a result file: `details.comparisons`, as both commands write it. */
const reportSchema = z.looseObject({
  details: z.looseObject({ comparisons: z.array(comparisonSchema).min(1) }),
});

/** Median of a metric by arm. */
export type Ranked = ReadonlyMap<string, ReadonlyMap<string, number>>;

const rankedMetrics = ['interactiveRunsPerMinute', 'batchRunsPerMinute', 'turnsPerMinute'] as const;

/**
 * @param report the JSON of a result file.
 * @param policyOf the policy that an arm stands for; null: none, so it is left out. Of several arms with one
 * policy the first counts.
 * @throws ZodError when it is no such file.
 */
export function rankedOf(report: unknown, policyOf: (arm: string) => string | null): Ranked {
  const [comparison] = reportSchema.parse(report).details.comparisons;
  const ranked = new Map<string, Map<string, number>>();
  for (const { arm, bySeed } of comparison?.results ?? []) {
    const policy = policyOf(arm);
    if (policy === null || ranked.has(policy)) continue;
    const medians = rankedMetrics.flatMap((metric: MetricName) => {
      const values = bySeed.flatMap((metrics) => metrics[metric] ?? []);
      const middle = values.length < bySeed.length ? null : median(values);
      return middle === null ? [] : [[metric, middle] as const];
    });
    ranked.set(policy, new Map(medians));
  }
  return ranked;
}

export interface Pair {
  readonly metric: string;
  readonly policies: readonly [string, string];
  /** First over second, in each result. */
  readonly ratios: readonly [number, number];
}

export interface Agreement {
  /** Pairs with an order in both results. */
  readonly ordered: readonly Pair[];
  /** Those of them that are ordered the other way round. */
  readonly contradictions: readonly Pair[];
}

/** @param tie share of a value within which two are equal. */
export function agreementOf(one: Ranked, other: Ranked, tie = 0.05): Agreement {
  const policies = [...one.keys()].filter((policy) => other.has(policy));
  const ordered: Pair[] = [];
  for (const [index, first] of policies.entries()) {
    for (const second of policies.slice(index + 1)) {
      for (const metric of rankedMetrics) {
        const ratios = [one, other].map((ranked) => ratioIn(ranked, first, second, metric));
        const [here, there] = ratios;
        if (here === undefined || there === undefined || here === null || there === null) continue;
        if (isTie(here, tie) || isTie(there, tie)) continue;
        ordered.push({ metric, policies: [first, second], ratios: [here, there] });
      }
    }
  }
  return {
    ordered,
    contradictions: ordered.filter(({ ratios: [here, there] }) => here > 1 !== there > 1),
  };
}

function ratioIn(ranked: Ranked, first: string, second: string, metric: string): number | null {
  const value = ranked.get(first)?.get(metric);
  const base = ranked.get(second)?.get(metric);
  return value === undefined || base === undefined || base === 0 ? null : value / base;
}

function isTie(ratio: number, tie: number): boolean {
  return ratio <= 1 + tie && ratio >= 1 / (1 + tie);
}

/** @param agreement null: one of the results is not there, so nothing was compared. */
export function rankingBars(name: string, agreement: Agreement | null): Bar[] {
  return [
    bar(`${name} pairs of policies with an order in both`, agreement?.ordered.length ?? null, '>=', 3),
    bar(`${name} pairs ordered other than by npm run sim`, agreement?.contradictions.length ?? null, '=', 0),
  ];
}

export function agreementLines({ ordered, contradictions }: Agreement): string[] {
  return ordered.map((pair) => {
    const [here, there] = pair.ratios.map((ratio) => ratio.toFixed(2));
    const verdict = contradictions.includes(pair) ? ' OTHER ORDER' : '';
    return `${pair.metric}: ${pair.policies.join(' over ')} ${here} in the simulation, ${there} here${verdict}`;
  });
}
