/**
 * The scheduler as a service: the pure core, fed by one event loop with what proxies, probes and the clock
 * say, and its effects delivered to the proxies. Keeps nothing on disk; proxies tell it all on resync.
 */
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { openAccess, type Access } from '../../auth/access.ts';
import type { Callers, Policy, ReplicaConfig } from '../../contracts/config-file.ts';
import type { ConfigStatus } from '../../contracts/config-status.ts';
import type { OpenLocalLink, SchedulerMessage } from '../../contracts/link-protocol.ts';
import type { Effect, SchedulerEvent } from '../core/events.ts';
import { describePool } from '../core/pool-view.ts';
import { createState } from '../core/state.ts';
import { mayUpgrade } from './door.ts';
import { createEventLoop } from './event-loop.ts';
import { addRoutes } from './http-routes.ts';
import { LinkServer } from './link-server.ts';
import { createMetrics } from './metrics.ts';
import { createProber } from './prober.ts';
import { rateLimitsOf } from './rate-limits.ts';
import { startTicker } from './ticker.ts';

const defaultProbeIntervalMs = 2_000;

export interface PoolSettings {
  readonly pool: readonly ReplicaConfig[];
  readonly policy: Policy;
  readonly callers: Callers;
}

export interface SchedulerConfig extends PoolSettings {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Milliseconds from one probe of a replica to the next; absent: 2,000. */
  readonly probeIntervalMs?: number;
}

export interface SchedulerDeps {
  readonly logger: Logger;
  /** Where the keys of replicas (`apiKeyEnv`) are read from. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Who is let in; absent: everyone. */
  readonly access?: Access;
  /** What is told of the configuration; absent: nothing. */
  readonly configStatus?: () => ConfigStatus;
}

export interface Scheduler {
  readonly url: string;
  readonly port: number;
  /** Puts another pool, policy or other weights in force; turns in flight and held stay. */
  reconfigure(settings: PoolSettings): void;
  /** Links a proxy of this process; it needs no token. */
  readonly openLink: OpenLocalLink;
  /** Closes links, probes and the port. Proxies hold their turns and wait for a scheduler. */
  close(): Promise<void>;
}

/** Starts a scheduler; resolves once it listens, rejects when its port cannot be had. */
export async function createScheduler(config: SchedulerConfig, deps: SchedulerDeps): Promise<Scheduler> {
  const { logger, access = openAccess, configStatus = null } = deps;
  const state = createState(config.policy, config.callers);
  const metrics = createMetrics(state, () => (configStatus?.().fault ?? null) !== null);
  let poolSent = '';
  let rateLimits = rateLimitsOf(config.callers);

  const poolMessage = (): SchedulerMessage => ({
    type: 'pool',
    replicas: describePool(state),
    streamIdleMs: state.policy.streamIdleMs,
    rateLimits,
  });
  const tellPool = (): void => {
    const message = poolMessage();
    const text = JSON.stringify(message);
    if (text === poolSent) return;
    poolSent = text;
    links.broadcast(message);
  };
  const onEffects = (effects: readonly Effect[], event: SchedulerEvent, tookMs: number): void => {
    // Proxies must know a replica before a turn is admitted to it.
    if (event.type === 'replicaProbed' || event.type === 'poolChanged') tellPool();
    // Somebody waits for a decision, nobody for a record.
    for (const effect of effects) if (effect.type !== 'recorded') deliver(effect, links);
    for (const effect of effects) if (effect.type === 'recorded') metrics.record(effect.record);
    metrics.stepped(event.type, tookMs);
    if (event.type === 'proxyResynced') ticker.resynced();
  };

  const loop = createEventLoop(state, { nowMs: () => performance.now(), onEffects });
  const ticker = startTicker(state, () => loop.submit({ type: 'ticked' }));
  const links = new LinkServer({ logger, submit: loop.submit, poolMessage });
  const prober = createProber(config.probeIntervalMs ?? defaultProbeIntervalMs, {
    logger,
    environment: deps.environment,
    onProbed(replica, result, tookMs) {
      metrics.probed(replica.id, result.healthy, tookMs);
      const { healthy, models, apis, load } = result;
      loop.submit({ type: 'replicaProbed', replica: replica.id, healthy, models, apis, load });
    },
  });
  const reconfigure = ({ pool, policy, callers }: PoolSettings): void => {
    rateLimits = rateLimitsOf(callers);
    loop.submit({ type: 'poolChanged', replicas: pool, policy, callers });
    prober.watch(pool);
  };

  const app: FastifyInstance = fastify({ forceCloseConnections: true });
  addRoutes(app, { state, metrics, access, configStatus });
  app.server.on('upgrade', (request, socket, head) => {
    if (mayUpgrade(request, socket, { access, logger })) links.upgrade(request, socket, head);
  });
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    ticker.stop();
    await Promise.all([links.close(), prober.close()]);
    throw error;
  }
  reconfigure(config);

  const { port } = app.server.address() as AddressInfo;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return {
    url: `http://${host}:${port}`,
    port,
    reconfigure,
    openLink: (events) => links.openLocal(events),
    async close() {
      ticker.stop();
      await Promise.all([links.close(), prober.close()]);
      await app.close();
    },
  };
}

/** A decision goes to the proxy that has the turn. */
function deliver({ proxy, ...message }: Exclude<Effect, { type: 'recorded' }>, links: LinkServer): void {
  links.send(proxy, message);
}
