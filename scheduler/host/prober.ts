/**
 * Probes every replica of the pool, from the start and then at a fixed interval, each on its own: a slow
 * replica delays no other, and never has two probes at once. Reports every result; decides nothing.
 */
import type { Logger } from 'pino';
import { Agent } from 'undici';
import type { ReplicaConfig } from '../../contracts/config-file.ts';
import { probeReplica, type ProbeResult } from './probe.ts';
import { replicaHeaders } from './replica-headers.ts';

/** What seldom changes, such as models and memory, is asked again after this many probes. */
const rareEveryProbes = 15;

/** Which APIs a replica serves changes only with its engine: asked again after this many probes. */
const apisEveryProbes = 150;

export interface ProberDeps {
  readonly logger: Logger;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly onProbed: (replica: ReplicaConfig, result: ProbeResult, tookMs: number) => void;
}

export interface Prober {
  /** Starts, keeps or stops probing so that exactly these replicas are probed. */
  watch(pool: readonly ReplicaConfig[]): void;
  close(): Promise<void>;
}

interface Loop {
  readonly config: string;
  readonly stop: AbortController;
}

export function createProber(intervalMs: number, deps: ProberDeps): Prober {
  const dispatcher = new Agent({
    connections: 4,
    keepAliveTimeout: 30_000,
    headersTimeout: 5_000,
    bodyTimeout: 5_000,
  });
  const loops = new Map<string, Loop>();
  const running = new Set<Promise<void>>();

  const start = (replica: ReplicaConfig): void => {
    const stop = new AbortController();
    loops.set(replica.id, { config: JSON.stringify(replica), stop });
    const done = probeForever(replica, intervalMs, dispatcher, stop.signal, deps).finally(() =>
      running.delete(done),
    );
    running.add(done);
  };

  return {
    watch(pool) {
      const wanted = new Map(pool.map((replica) => [replica.id as string, JSON.stringify(replica)]));
      for (const [id, loop] of loops) {
        if (wanted.get(id) === loop.config) continue;
        loop.stop.abort();
        loops.delete(id);
      }
      for (const replica of pool) if (!loops.has(replica.id)) start(replica);
    },
    async close() {
      for (const loop of loops.values()) loop.stop.abort();
      loops.clear();
      await Promise.all(running);
      await dispatcher.destroy();
    },
  };
}

async function probeForever(
  replica: ReplicaConfig,
  intervalMs: number,
  dispatcher: Agent,
  signal: AbortSignal,
  deps: ProberDeps,
): Promise<void> {
  const apiKey = replica.apiKeyEnv === undefined ? null : (deps.environment[replica.apiKeyEnv] ?? null);
  if (replica.apiKeyEnv !== undefined && apiKey === null) {
    deps.logger.warn({ replica: replica.id }, `environment variable ${replica.apiKeyEnv} is not set`);
  }
  const headers = replicaHeaders(replica, apiKey);
  let models = replica.models ?? [];
  let healthy: boolean | null = null;
  let sinceRare = rareEveryProbes;
  let untilApis = 0;
  while (!signal.aborted) {
    const startedAtMs = performance.now();
    const askCapacity = sinceRare >= rareEveryProbes;
    const askModels = replica.models === undefined && (models.length === 0 || askCapacity);
    const asked = { askModels, askCapacity, askApis: untilApis === 0, models };
    const result = await probeReplica(replica, { dispatcher, headers, signal, ...asked });
    if (signal.aborted) return;
    const tookMs = performance.now() - startedAtMs;
    if (result.models !== undefined) models = [...result.models];
    untilApis = nextApis(untilApis, result);
    // A replica that comes back may be another engine behind the same address.
    sinceRare = result.healthy ? (askCapacity ? 0 : sinceRare + 1) : rareEveryProbes;
    if (result.healthy !== healthy) {
      const words = result.healthy ? 'replica is healthy' : `replica is unhealthy: ${result.failure}`;
      deps.logger[result.healthy ? 'info' : 'warn']({ replica: replica.id }, words);
      healthy = result.healthy;
    }
    deps.onProbed(replica, result, tookMs);
    await wait(Math.max(0, intervalMs - tookMs), signal);
  }
}

/** In how many probes the APIs are asked: at once of one that comes back, sooner of one that did not tell. */
function nextApis(untilApis: number, { healthy, apis }: ProbeResult): number {
  if (!healthy) return 0;
  if (untilApis > 0) return untilApis - 1;
  return apis === null ? rareEveryProbes : apisEveryProbes;
}

/** Resolves after `ms`, or at once when `signal` aborts. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
