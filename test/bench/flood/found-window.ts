/** A window as a test needs it: an arm, a seed, and what matters of its numbers. */
import type { WindowFound } from '../../../bench/flood/window.ts';
import { metricNames, type MetricName, type Metrics } from '../../../bench/sim/measure.ts';

export function windowOf(
  arm: string,
  seed: number,
  metrics: Partial<Record<MetricName, number>>,
  fields: Partial<WindowFound> = {},
): WindowFound {
  const known = Object.fromEntries(metricNames.map((name) => [name, metrics[name] ?? null]));
  return {
    arm,
    seed,
    version: null,
    metrics: known as Metrics,
    endedAtMs: { interactive: [], batch: [] },
    answers: new Map(),
    wrongReplies: 0,
    failures: { count: 0, reasons: [] },
    gatewayCpus: null,
    ...fields,
  };
}
