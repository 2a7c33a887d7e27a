/** The proxy's Prometheus metrics, in a registry of their own. Labels are bounded: never a run or caller. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ServiceClass } from '../contracts/service-class.ts';
import type { TurnRecord } from './turn-record.ts';

const secondsBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
];

export interface ProxyMetrics {
  readonly registry: Registry;
  observe(record: TurnRecord): void;
  upstreamError(kind: string): void;
  rateLimited(limit: string): void;
}

/** @param gauges read at each scrape. */
export function createMetrics(gauges: {
  active: () => number;
  held: () => number;
  linked: () => boolean;
}): ProxyMetrics {
  const registry = new Registry();
  const registers = [registry];
  const histogram = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
  ): Histogram<Label> => new Histogram({ name, help, labelNames, buckets: secondsBuckets, registers });
  const gauge = (name: string, help: string, read: () => number): void => {
    const made: Gauge = new Gauge({ name, help, registers, collect: () => made.set(read()) });
  };
  const hold = histogram('fermata_proxy_hold_seconds', 'Time a turn was held.', ['class']);
  const firstByte = histogram(
    'fermata_proxy_first_byte_seconds',
    'Arrival to first byte, holding included.',
    ['class'],
  );
  const duration = histogram('fermata_proxy_turn_duration_seconds', 'Arrival to end of a turn.', [
    'class',
    'outcome',
  ]);
  const tokens = new Counter({
    name: 'fermata_proxy_tokens_total',
    help: 'Tokens of finished turns; of turns cut off, an estimate.',
    labelNames: ['class', 'kind'],
    registers,
  });
  const requests = new Counter({
    name: 'fermata_proxy_requests_total',
    help: 'Requests by endpoint and status; status 0: the client left before one was sent.',
    labelNames: ['api', 'status'],
    registers,
  });
  const errors = new Counter({
    name: 'fermata_proxy_upstream_errors_total',
    help: 'Failures and refusals of engines by kind.',
    labelNames: ['kind'],
    registers,
  });
  const limited = new Counter({
    name: 'fermata_proxy_rate_limited_total',
    help: 'Requests refused by a rate limit of their caller, by limit.',
    labelNames: ['limit'],
    registers,
  });
  gauge('fermata_proxy_active', 'Turns in flight.', gauges.active);
  gauge('fermata_proxy_held', 'Turns held.', gauges.held);
  gauge('fermata_proxy_link_up', 'Whether the scheduler is linked.', () => (gauges.linked() ? 1 : 0));

  const countTokens = (serviceClass: ServiceClass, kind: string, count: number | null): void => {
    if (count !== null) tokens.inc({ class: serviceClass, kind }, count);
  };
  return {
    registry,
    upstreamError: (kind) => errors.inc({ kind }),
    rateLimited: (limit) => limited.inc({ limit }),
    observe: (record) => {
      requests.inc({ api: record.api, status: String(record.status) });
      if (record.class === null) return;
      hold.observe({ class: record.class }, record.heldMs / 1000);
      if (record.firstByteMs !== null) firstByte.observe({ class: record.class }, record.firstByteMs / 1000);
      duration.observe({ class: record.class, outcome: record.outcome }, record.totalMs / 1000);
      countTokens(record.class, 'prompt', record.tokensIn);
      countTokens(record.class, 'cached', record.cached);
      countTokens(record.class, 'completion', record.tokensOut);
    },
  };
}
