/**
 * The scheduler as a service: the pure core, fed by one event loop with what proxies, probes and the clock
 * say, and its effects delivered to the proxies. Keeps nothing on disk; proxies tell it all on resync. Of several
 * with one lease, one decides; the others probe the pool, refuse links and wait.
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
import { createState, type SchedulerState } from '../core/state.ts';
import { mayUpgrade } from './door.ts';
import { createEventLoop } from './event-loop.ts';
import { addRoutes } from './http-routes.ts';
import { LinkServer } from './link-server.ts';
import type { LeaseStore } from './lease/lease-store.ts';
import type { LeaseTimes } from './lease/lease-times.ts';
import { createMetrics, type SchedulerMetrics } from './metrics.ts';
import { createOffice, type Office } from './office.ts';
import { createProber, type Prober } from './prober.ts';
import { rateLimitsOf } from './rate-limits.ts';
import { startTicker, type Ticker } from './ticker.ts';

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
  /** Which of several schedulers decides; null or absent: there is one. It is closed with the scheduler. */
  readonly lease?: LeaseStore | null;
  /** Absent: the true ones. */
  readonly leaseTimes?: LeaseTimes;
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
  const { state, metrics, office, links, ticker, prober, reconfigure } = assemble(config, deps);
  const app: FastifyInstance = fastify({ forceCloseConnections: true });
  const awayBecause = (): string | null => office.awayBecause();
  addRoutes(app, { state, metrics, access, configStatus, lease: office.standing, awayBecause });
  app.server.on('upgrade', (request, socket, head) => {
    const door = { access, logger, closedBecause: awayBecause };
    if (mayUpgrade(request, socket, door)) links.upgrade(request, socket, head);
  });
  const close = async (): Promise<void> => {
    ticker.stop();
    const linked = links.linked;
    await links.close();
    // Only now may another one begin.
    await Promise.all([office.close(linked), prober.close()]);
    await app.close();
  };
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    await close();
    throw error;
  }
  reconfigure(config);

  const { port } = app.server.address() as AddressInfo;
  office.start(port);
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return {
    url: `http://${host}:${port}`,
    port,
    reconfigure,
    openLink: (events) => (office.active ? links.openLocal(events) : null),
    close,
  };
}

interface Parts {
  readonly state: SchedulerState;
  readonly metrics: SchedulerMetrics;
  readonly office: Office;
  readonly links: LinkServer;
  readonly ticker: Ticker;
  readonly prober: Prober;
  readonly reconfigure: (settings: PoolSettings) => void;
}

/** The parts of a scheduler, at work but for the pool, the office and the door. */
function assemble(config: SchedulerConfig, deps: SchedulerDeps): Parts {
  const { logger, configStatus = null } = deps;
  const state = createState(config.policy, config.callers);
  const office = createOffice(deps.lease ?? null, {
    logger,
    times: deps.leaseTimes,
    onActive: (proxies) => loop.submit({ type: 'tookOver', proxies }),
    onStandby: () => {
      links.endAll();
      // Whoever decides now knows better; what is known of engines is soon probed again.
      Object.assign(state, createState(inForce.policy, inForce.callers));
      prober.watch([]);
      reconfigure(inForce);
    },
    linkedProxies: () => links.linked,
  });
  const metrics = createMetrics(state, {
    configFaulty: () => (configStatus?.().fault ?? null) !== null,
    active: () => office.active,
    leaseFaults: () => office.leaseFaults,
  });
  let inForce: PoolSettings = config;
  let rateLimits = rateLimitsOf(config.callers);
  const poolMessage = (): SchedulerMessage => ({
    type: 'pool',
    replicas: describePool(state),
    streamIdleMs: state.policy.streamIdleMs,
    rateLimits,
  });
  const onEffects = (effects: readonly Effect[], event: SchedulerEvent, tookMs: number): void => {
    // Proxies must know a replica before a turn is admitted to it.
    if (event.type === 'replicaProbed' || event.type === 'poolChanged') tellPool();
    if (!deliverAll(effects, links, office)) return;
    // Somebody waits for a decision, nobody for a record.
    for (const effect of effects) if (effect.type === 'recorded') metrics.record(effect.record);
    metrics.stepped(event.type, tookMs);
    if (event.type === 'proxyResynced') ticker.resynced();
  };
  const loop = createEventLoop(state, { nowMs: () => performance.now(), onEffects });
  const ticker = startTicker(state, () => loop.submit({ type: 'ticked' }));
  const links = new LinkServer({
    logger,
    submit: (event) => {
      office.check();
      if (office.active) loop.submit(event);
    },
    poolMessage,
    onLinked: () => office.linksChanged(),
  });
  const tellPool = onlyChanges(poolMessage, (message) => links.broadcast(message));
  const prober = createProber(config.probeIntervalMs ?? defaultProbeIntervalMs, {
    logger,
    environment: deps.environment,
    onProbed(replica, result, tookMs) {
      metrics.probed(replica.id, result.healthy, tookMs);
      const { healthy, models, apis, load } = result;
      loop.submit({ type: 'replicaProbed', replica: replica.id, healthy, models, apis, load });
    },
  });
  const reconfigure = (settings: PoolSettings): void => {
    const { pool, policy, callers } = settings;
    inForce = settings;
    rateLimits = rateLimitsOf(callers);
    loop.submit({ type: 'poolChanged', replicas: pool, policy, callers });
    prober.watch(pool);
  };
  return { state, metrics, office, links, ticker, prober, reconfigure };
}

/** Sends what `make` makes, unless it is what was sent last. */
function onlyChanges<T>(make: () => T, send: (made: T) => void): () => void {
  let sent = '';
  return () => {
    const made = make();
    const text = JSON.stringify(made);
    if (text === sent) return;
    sent = text;
    send(made);
  };
}

/**
 * Decisions go to the proxies that have the turns, each only while this scheduler is the one that decides.
 * @returns false: it is not any more; what it has decided is void.
 */
function deliverAll(effects: readonly Effect[], links: LinkServer, office: Office): boolean {
  for (const effect of effects) {
    if (effect.type === 'recorded') continue;
    if (!office.active) {
      office.check();
      return false;
    }
    const { proxy, ...message } = effect;
    links.send(proxy, message);
  }
  return true;
}
