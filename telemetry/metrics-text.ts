/**
 * What a service answers to a scrape: its own metrics, those of its process, and how the export of its
 * traces goes, where there is one. Nothing is counted or set up before the first scrape.
 */
import { Counter, Registry } from 'prom-client';
import { processRegistry } from './process-metrics.ts';
import type { Telemetry } from './telemetry.ts';

const ofSpans = new WeakMap<Telemetry, Registry>();

/** @param telemetry null: the service exports no traces. */
export async function metricsText(own: Registry, telemetry: Telemetry | null): Promise<string> {
  const registries = [own, processRegistry(), ...(telemetry === null ? [] : [spanRegistry(telemetry)])];
  const texts = await Promise.all(registries.map(async (registry) => await registry.metrics()));
  return texts.join('\n');
}

/** What has become of the spans of a service. */
export function spanRegistry(telemetry: Telemetry): Registry {
  const known = ofSpans.get(telemetry);
  if (known !== undefined) return known;
  const registry = new Registry();
  const spans: Counter<'outcome'> = new Counter({
    name: 'fermata_telemetry_spans_total',
    help: 'Spans by outcome: exported, or dropped because the queue was full or the receiver away.',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      spans.reset();
      for (const [outcome, count] of Object.entries(telemetry.counts())) spans.inc({ outcome }, count);
    },
  });
  ofSpans.set(telemetry, registry);
  return registry;
}
