/**
 * The proxy as a service: puts its parts together, listens, and stops in order. The path of a turn is in
 * `serve-turn.ts`; nothing here looks into a request.
 */
import Fastify, { type FastifyInstance } from 'fastify';
import type { ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import { openAccess, type Access } from '../auth/access.ts';
import { addressList, type Addresses } from '../contracts/addresses.ts';
import type { TurnId } from '../contracts/ids.ts';
import type { OpenLocalLink } from '../contracts/link-protocol.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { tellOfMalformed } from './access-log.ts';
import { Fault, sendFault } from './faults.ts';
import { createEngineAgent } from './forward/engine-agent.ts';
import { drawProxyId } from './identity/draw-ids.ts';
import { RunMemory } from './identity/run-memory.ts';
import { defaultLimits, type ProxyLimits } from './limits.ts';
import { LinkClient } from './link/link-client.ts';
import type { LinkCarrier } from './link/link-transport.ts';
import { LiveTurns } from './link/live-turns.ts';
import { localCarrier } from './link/local-carrier.ts';
import { ReplicaPool } from './link/replica-pool.ts';
import { RunRegistry } from './link/run-registry.ts';
import { webSocketCarrier } from './link/web-socket-carrier.ts';
import { answerMalformed } from './malformed-request.ts';
import { createMetrics } from './metrics.ts';
import type { ProxyContext } from './proxy-context.ts';
import { RateLimiter } from './rate-limits/rate-limiter.ts';
import type { SharedBudgets } from './rate-limits/shared-budgets.ts';
import { addRoutes } from './routes.ts';
import { Stopping } from './stop-in-order.ts';

export interface ProxyConfig {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** http or https address of the scheduler, or of several of which one is active. */
  readonly schedulerUrl: Addresses;
  /** Links with a scheduler in this process, in the place of a connection to `schedulerUrl`. */
  readonly openLink?: OpenLocalLink;
  /** Where rate limits are counted for several proxies; null or absent: in each proxy's memory. */
  readonly redisUrl?: string | null;
  readonly limits?: Partial<ProxyLimits>;
}

export interface ProxyDeps {
  readonly logger: Logger;
  /** Where the replicas' keys are, by the names in their entries. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Who is let in, and the token for the scheduler; absent: everyone, and none. */
  readonly access?: Access;
  /** Where turns are traced; its owner closes it after the proxy. null or absent: nowhere. */
  readonly telemetry?: Telemetry | null;
}

export interface Proxy {
  readonly url: string;
  readonly port: number;
  /** Stops taking turns, refuses held ones, lets streams finish within `limits.drainMs`, cuts the rest. */
  close(): Promise<void>;
  /** Makes `close` wait no longer: what is in flight is cut at once. */
  cut(): void;
}

/** Resolves when it listens; the link to the scheduler may come up later. Rejects when the port is taken. */
export async function createProxy(config: ProxyConfig, deps: ProxyDeps): Promise<Proxy> {
  const limits = { ...defaultLimits, ...config.limits };
  const shared = await connectRedis(config.redisUrl ?? null, limits, deps.logger);
  const context = createContext(config, shared, limits, deps);
  const app = createServer(context);
  const stop = new Stopping();
  addRoutes(app, context, deps.access ?? openAccess, stop);
  await app.listen({ host: config.host, port: config.port });
  context.link.start(context);
  const sweeper = setInterval(() => {
    context.memory.sweep(context.nowMs());
    context.runs.sweep(context.nowMs());
    context.limiter.sweep(context.nowMs());
  }, limits.sweepEveryMs);
  const { port } = app.server.address() as AddressInfo;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return {
    url: `http://${host}:${port}`,
    port,
    close: async () => {
      clearInterval(sweeper);
      await stop.begin(app, context);
    },
    cut: () => stop.cut(),
  };
}

/** The client is loaded only where there is a Redis: it costs some 20 MB. */
async function connectRedis(
  url: string | null,
  limits: ProxyLimits,
  logger: Logger,
): Promise<SharedBudgets | null> {
  if (url === null) return null;
  const { connectSharedBudgets } = await import('./rate-limits/shared-budgets.ts');
  return await connectSharedBudgets({ url, answerWithinMs: limits.redisAnswerMs, logger });
}

function carriersOf(
  { schedulerUrl, openLink }: ProxyConfig,
  limits: ProxyLimits,
  deps: ProxyDeps,
): readonly LinkCarrier[] {
  if (openLink !== undefined) return [localCarrier(openLink)];
  const addresses = addressList(schedulerUrl);
  const several = addresses.length > 1;
  return addresses.map((address) =>
    webSocketCarrier({
      schedulerUrl: address,
      token: deps.access?.serviceToken ?? null,
      pingMs: several ? limits.linkPingOfSeveralMs : limits.linkPingMs,
      handshakeMs: several ? limits.linkOpenOfSeveralMs : limits.linkOpenMs,
      logger: deps.logger,
    }),
  );
}

function createContext(
  config: ProxyConfig,
  shared: SharedBudgets | null,
  limits: ProxyLimits,
  deps: ProxyDeps,
): ProxyContext {
  const nowMs = (): number => performance.now();
  const proxy = drawProxyId();
  const link = new LinkClient(carriersOf(config, limits, deps), proxy);
  const runs = new RunRegistry({ maxRuns: limits.liveRuns, forgetAfterMs: limits.forgetAfterMs });
  const turns = new LiveTurns({
    runs,
    send: (message) => link.send(message),
    sendSoon: (message) => link.sendSoon(message),
    nowMs,
    maxHeld: limits.heldTurns,
  });
  const memory = new RunMemory({ maxEntries: limits.rememberedKeys, lifetimeMs: limits.forgetAfterMs });
  const metrics = createMetrics({
    active: () => turns.inFlightCount,
    held: () => turns.heldCount,
    linked: () => link.connected,
    redisUp: () => shared?.up ?? null,
    memories: () => ({ runs: runs.size, conversations: memory.size, callers: limiter.callers }),
  });
  const limiter = new RateLimiter({
    maxCallers: limits.limitedCallers,
    shared,
    nowMs,
    onRefused: (limit) => metrics.rateLimited(limit),
  });
  let turnCount = 0;
  return {
    link,
    turns,
    runs,
    pool: new ReplicaPool(),
    memory,
    agent: createEngineAgent(limits.connectTimeoutMs),
    limiter,
    metrics,
    logger: deps.logger,
    telemetry: deps.telemetry ?? null,
    limits,
    environment: deps.environment,
    nowMs,
    nextTurnId: () => `${proxy}.${(turnCount += 1).toString(36)}` as TurnId,
  };
}

function createServer(context: ProxyContext): FastifyInstance {
  const { limits } = context;
  const latest = new WeakMap<Socket, ServerResponse>();
  const app = Fastify({
    logger: false,
    // Ours answers, in the same error shape as everything else.
    return503OnClosing: false,
    requestTimeout: limits.requestTimeoutMs,
    clientErrorHandler: (error, socket) => {
      const response = latest.get(socket);
      const underWay = response === undefined || response.writableFinished ? null : response;
      const fault = answerMalformed(error, socket, limits.headerBytes, underWay);
      if (fault !== null) tellOfMalformed(context, fault);
    },
    frameworkErrors: (error, _request, reply) => {
      const fault = new Fault('invalid_request', `the address cannot be read: ${error.message}`);
      sendFault(reply.raw, fault);
      tellOfMalformed(context, fault);
    },
    // A run id of 128 characters, each of them escaped.
    routerOptions: { maxParamLength: 3 * 128 },
    http: { maxHeaderSize: limits.headerBytes, noDelay: true },
  });
  app.server.on('request', (request, response) => latest.set(request.socket, response));
  return app;
}
