/**
 * The proxy's Prometheus metrics, in a registry of their own. Labels are bounded: never a run, a caller or
 * a model. `docs/reference/metrics.md` lists them; a test holds it to what is registered here.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { TurnRecord } from './turn-record.ts';

const secondsBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
];

export interface ProxyMetrics {
  readonly registry: Registry;
  /** Once for each request that a client made, when it has ended. */
  observe(record: TurnRecord): void;
  upstreamError(kind: string): void;
  rateLimited(limit: string): void;
}

/** What is read at each scrape. */
export interface MetricSources {
  /** Turns in flight. */
  active(): number;
  held(): number;
  linked(): boolean;
  /** null: no Redis is set. */
  redisUp(): boolean | null;
  /** Entries of each bounded memory, by its name. */
  memories(): Readonly<Record<string, number>>;
}

export function createMetrics(sources: MetricSources): ProxyMetrics {
  const registry = new Registry();
  addGauges(sources, [registry]);
  const times = addTimes([registry]);
  const counters = addCounters([registry]);
  return {
    registry,
    upstreamError: (kind) => counters.errors.inc({ kind }),
    rateLimited: (limit) => counters.limited.inc({ limit }),
    observe: (record) => {
      const { api, status, class: serviceClass, outcome } = record;
      counters.requests.inc({ api, status });
      if (serviceClass === null) return;
      const labels = { class: serviceClass, outcome };
      if (record.attempts > 0) times.hold.observe(labels, record.heldMs / 1000);
      if (record.firstByteMs !== null) times.firstByte.observe(labels, record.firstByteMs / 1000);
      times.duration.observe(labels, record.totalMs / 1000);
      const countTokens = (kind: string, count: number | null): void => {
        if (count !== null && count > 0) counters.tokens.inc({ class: serviceClass, kind }, count);
      };
      countTokens('prompt', record.tokensIn);
      countTokens('cached', record.cached);
      countTokens('completion', record.tokensOut);
    },
  };
}

type TurnLabel = 'class' | 'outcome';

function addTimes(registers: Registry[]): Record<'hold' | 'firstByte' | 'duration', Histogram<TurnLabel>> {
  const histogram = (name: string, help: string): Histogram<TurnLabel> =>
    new Histogram({ name, help, labelNames: ['class', 'outcome'], buckets: secondsBuckets, registers });
  return {
    hold: histogram('fermata_proxy_hold_seconds', 'Time a turn was held, over all its attempts.'),
    firstByte: histogram('fermata_proxy_first_byte_seconds', 'Arrival to first byte, holding included.'),
    duration: histogram('fermata_proxy_turn_duration_seconds', 'Arrival to end of a turn.'),
  };
}

function addCounters(registers: Registry[]) {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers });
  return {
    tokens: counter(
      'fermata_proxy_tokens_total',
      'Tokens of turns by kind: prompt, cached (part of prompt), completion; of turns cut off, an estimate.',
      ['class', 'kind'],
    ),
    requests: counter(
      'fermata_proxy_requests_total',
      'Requests by endpoint and status; status 0: the client left before one was sent.',
      ['api', 'status'],
    ),
    errors: counter('fermata_proxy_upstream_errors_total', 'Failures and refusals of engines by kind.', [
      'kind',
    ]),
    limited: counter(
      'fermata_proxy_rate_limited_total',
      'Requests refused by a rate limit of their caller, by limit.',
      ['limit'],
    ),
  };
}

function addGauges(sources: MetricSources, registers: Registry[]): void {
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    read: (own: Gauge<Label>) => void,
  ): void => {
    const own: Gauge<Label> = new Gauge({ name, help, labelNames, registers, collect: () => read(own) });
  };
  gauge('fermata_proxy_active', 'Turns in flight.', [], (own) => own.set(sources.active()));
  gauge('fermata_proxy_held', 'Turns held.', [], (own) => own.set(sources.held()));
  gauge('fermata_proxy_link_up', '1 while the scheduler is linked.', [], (own) =>
    own.set(sources.linked() ? 1 : 0),
  );
  const redisHelp = '1 while Redis counts rate limits, 0 while it is away; absent without FERMATA_REDIS_URL.';
  gauge('fermata_proxy_redis_up', redisHelp, [], (own) => {
    const up = sources.redisUp();
    if (up === null) own.remove();
    else own.set(up ? 1 : 0);
  });
  gauge('fermata_proxy_memory_entries', 'Entries of the bounded memories.', ['memory'], (own) => {
    for (const [memory, entries] of Object.entries(sources.memories())) own.set({ memory }, entries);
  });
}
